// A user's command may hang, print without end or leave children. So it has a deadline, a size
// limit and a process group, which is always killed.
#include "launcher/jobs/discover_hosts.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/options/trusted_file.h"
#include "launcher/streams/command_output.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kToolPatience = 5s;  // scontrol without its server prints nothing for a minute
constexpr const char* kExample = "lines HOST or HOST:SLOTS";

// A script without its execute bit is read as a list, and fails there with file and line.
bool is_plain_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) != 0;
}

}  // namespace

std::vector<Host> parse_discovered(std::string_view text, const std::string& what) {
  constexpr std::string_view kEcho = "echo ";
  std::string lines;
  for (const std::string& line : split(text, '\n')) {
    std::string_view rest = trim(line);
    // An MPIJob's operator keeps its list as a shell script of such lines.
    if (rest.starts_with(kEcho)) rest = trim(rest.substr(kEcho.size()));
    lines += std::string(rest) + "\n";
  }
  return parse_hostfile(lines, "--discover " + what);
}

std::vector<Host> discover_hosts(const std::string& what, int give_up) {
  if (is_plain_file(what)) {
    return parse_discovered(read_trusted_file(what, kMaxHostfileBytes, "list of hosts"), what);
  }
  // It runs repeatedly for hours: no other user may be able to replace it meanwhile.
  check_trusted_command(what, "program of --discover");
  const std::string text = read_command({.arguments = {"/bin/sh", "-c", what},
                                         .name = "--discover " + what,
                                         .hint = kExample,
                                         .patience = kDiscoverPatience,
                                         .most_bytes = kMaxHostfileBytes,
                                         .give_up = give_up});
  pollfd given_up{give_up, POLLIN, 0};
  if (give_up >= 0 && ::poll(&given_up, 1, 0) > 0) return {};
  return parse_discovered(text, what);
}

std::optional<std::string> ask_tool(const ToolQuestion& question) {
  try {
    // The program may be missing or without its server; the user must not see its messages then.
    const std::string script = "exec 2>/dev/null; " + question.script;
    return read_command({.arguments = {"/bin/sh", "-c", script, question.argument},
                         .name = question.tool,
                         .hint = kExample,
                         .patience = kToolPatience,
                         .most_bytes = kMaxHostfileBytes});
  } catch (const Error& error) {
    log_verbose(error.what());
    return std::nullopt;
  }
}

}  // namespace dtl
