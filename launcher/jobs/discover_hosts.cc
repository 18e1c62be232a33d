#include "launcher/jobs/discover_hosts.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/options/trusted_file.h"
#include "launcher/streams/child.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kToolPatience = 5s;  // scontrol without its server says nothing for a minute
constexpr const char* kExample = "lines HOST or HOST:SLOTS";

bool is_plain_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) != 0;
}

// Whatever it has started goes with it.
struct EndedChild {
  Child& child;
  ~EndedChild() {
    ::kill(-child.pid, SIGKILL);
    siginfo_t status{};
    while (::waitid(P_PID, static_cast<id_t>(child.pid), &status, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    child.ending();
  }
};

// Reads what is there. False: nothing more will come.
bool read_some(int fd, std::string& text) {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// name: of the command, in errors.
std::string output_of(const std::vector<std::string>& arguments, const std::string& name,
                      std::chrono::seconds patience, int give_up) {
  Child child = spawn_child(arguments, ChildErrors::kShared);
  const EndedChild ended{child};
  ::shutdown(child.socket.get(), SHUT_WR);  // it reads nothing
  const auto deadline = Clock::now() + patience;
  std::string text;
  for (bool open = true; open;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waited[] = {{child.socket.get(), POLLIN, 0}, {give_up, POLLIN, 0}};
    const int ready = ::poll(waited, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready == 0) {
      throw Error(Exit::kTryAgain, name,
                  fmt::format("it did not end within {} s", patience.count()), kExample);
    }
    if (ready > 0 && waited[1].revents != 0) return {};
    if (ready > 0 && waited[0].revents != 0) open = read_some(child.socket.get(), text);
    if (text.size() > kMaxHostfileBytes) {
      throw Error(Exit::kBadInput, name, "it prints more than a hostfile may have", kExample);
    }
  }
  siginfo_t status{};
  pollfd process{child.process.get(), POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  if (::poll(&process, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) > 0 &&
      ::waitid(P_PID, static_cast<id_t>(child.pid), &status, WEXITED | WNOWAIT) == 0 &&
      (status.si_code != CLD_EXITED || status.si_status != 0)) {
    throw Error(Exit::kTryAgain, name, "it ended with " + child.ending(),
                "that command in a shell");
  }
  return text;
}

}  // namespace

std::vector<Host> parse_discovered(std::string_view text, const std::string& what) {
  constexpr std::string_view kEcho = "echo ";
  std::string lines;
  for (const std::string& line : split(text, '\n')) {
    std::string_view rest = trim(line);
    if (rest.starts_with(kEcho)) rest = trim(rest.substr(kEcho.size()));
    lines += std::string(rest) + "\n";
  }
  return parse_hostfile(lines, "--discover " + what);
}

std::vector<Host> discover_hosts(const std::string& what, int give_up) {
  if (is_plain_file(what)) {
    return parse_discovered(read_trusted_file(what, kMaxHostfileBytes, "list of hosts"), what);
  }
  check_trusted_command(what, "program of --discover");
  const std::string text =
      output_of({"/bin/sh", "-c", what}, "--discover " + what, kDiscoverPatience, give_up);
  pollfd given_up{give_up, POLLIN, 0};
  if (give_up >= 0 && ::poll(&given_up, 1, 0) > 0) return {};
  return parse_discovered(text, what);
}

std::optional<std::string> ask_tool(const ToolQuestion& question) {
  try {
    const std::string script = "exec 2>/dev/null; " + question.script;
    return output_of({"/bin/sh", "-c", script, question.argument}, question.tool, kToolPatience,
                     -1);
  } catch (const Error& error) {
    log_verbose(error.what());
    return std::nullopt;
  }
}

}  // namespace dtl
