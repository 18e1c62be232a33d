// `dttrain __check ARGUMENTS` parses its arguments as at a start, and exits.
#include "launcher/jobs/trainer_check.h"

#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "launcher/streams/command_output.h"

namespace dtl {
namespace {

constexpr std::size_t kMostSaid = 1 << 20;  // more than --help prints, if the line has it

}  // namespace

void check_trainer_lines(const Request& request, const std::string& folder) {
  const std::string trainer = folder + "/dttrain";
  if (::access(trainer.c_str(), X_OK) != 0) return;
  for (const Program& program : request.programs) {
    // A path names a file that may be another version. In another folder, dttrain would not find
    // its settings files.
    if (program.command.empty() || program.command[0] != "dttrain") continue;
    if (program.command.size() > 1 && program.command[1] == "init") continue;  // another program
    std::error_code failed;
    if (!std::filesystem::equivalent(program.working_directory, ".", failed)) continue;
    CommandToRead question{.arguments = program.command,
                           .name = "dttrain",
                           .hint = "dttrain --help",
                           .most_bytes = kMostSaid};
    question.arguments[0] = trainer;
    question.arguments.insert(question.arguments.begin() + 1, "__check");
    try {
      read_command(question);
    } catch (const Error& error) {
      // dttrain has said what is wrong and what to try.
      throw Error(Exit::kBadInput, "dttrain does not take its settings", error.reason());
    }
  }
}

}  // namespace dtl
