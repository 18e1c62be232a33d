// `dttrain __check N KEY PLACE SHOWN .. ARGUMENTS` reads its arguments as a start does, with the
// places of N of them, and ends. It prints nothing, or the parts of an error, each with a zero byte
// behind it.
#include "launcher/jobs/trainer_check.h"

#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "launcher/streams/command_output.h"

namespace dtl {
namespace {

constexpr std::size_t kMostSaid = 1 << 20;  // more than --help prints, if the line has it

bool names_file_of_options(const std::vector<std::string>& command) {
  return command.size() > 1 && (command[1].ends_with(".json") || command[1].ends_with(".toml"));
}

// A path names a file that may be another version.
bool can_be_checked(const Program& program, const TrainerCheck& check) {
  const std::vector<std::string>& command = program.command;
  if (command.empty() || command[0] != "dttrain") return false;
  // Commands with options of their own.
  if (command.size() > 1 && (command[1] == "init" || command[1] == "encode")) return false;
  if (!names_file_of_options(command)) return true;
  // It may be on the ranks' hosts alone, and in another folder it would not be found.
  std::error_code failed;
  return check.dry_run && std::filesystem::equivalent(program.working_directory, ".", failed);
}

// What dttrain has answered: status, what was attempted, reason and hint.
void throw_answered(const std::string& answer, bool from_file) {
  const std::vector<std::string> parts = split(answer, '\0');
  if (parts.size() < 4) return;
  const auto status = parse_integer(parts[0], 0, 255);
  const Error error(from_file || !status ? Exit::kBadInput : static_cast<Exit>(*status), parts[1],
                    parts[2], parts[3]);
  if (from_file) throw error;
  throw error.with_context("dttrain");
}

}  // namespace

void check_trainer_lines(const Request& request, const TrainerCheck& check) {
  const std::string trainer = check.folder + "/dttrain";
  if (::access(trainer.c_str(), X_OK) != 0) return;
  for (const Program& program : request.programs) {
    if (!can_be_checked(program, check)) continue;
    const bool first = &program == &request.programs.front();
    const std::vector<TomlEntry> entries = first ? check.trainer : std::vector<TomlEntry>{};
    CommandToRead question{.arguments = {trainer, "__check", std::to_string(entries.size())},
                           .name = "dttrain",
                           .hint = "dttrain --help",
                           .most_bytes = kMostSaid};
    for (const TomlEntry& entry : entries) {
      question.arguments.insert(question.arguments.end(), {entry.name, entry.place, entry.shown});
    }
    question.arguments.insert(question.arguments.end(), program.command.begin() + 1,
                              program.command.end());
    std::string answer;
    try {
      answer = read_command(question);
    } catch (const Error& error) {
      // On a busy machine it may take too long. The ranks find out.
      if (!check.dry_run) continue;
      throw Error(Exit::kBadInput, "cannot ask dttrain about its settings", error.reason());
    }
    throw_answered(answer, !entries.empty());
  }
}

}  // namespace dtl
