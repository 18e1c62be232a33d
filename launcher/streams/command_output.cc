#include "launcher/streams/command_output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "launcher/streams/child.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

// Kills the whole process group, with everything that the command has started. WNOWAIT leaves the
// process to child.ending(), so its pid cannot be reused before.
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

// Reads the available bytes. False: no more will come.
bool read_some(int fd, std::string& text) {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

std::string read_command(const CommandToRead& command) {
  Child child = spawn_child(command.arguments, ChildErrors::kShared);
  const EndedChild ended{child};
  ::shutdown(child.socket.get(), SHUT_WR);  // empty standard input
  const auto deadline = Clock::now() + command.patience;
  std::string text;
  for (bool open = true; open;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waited[] = {{child.socket.get(), POLLIN, 0}, {command.give_up, POLLIN, 0}};
    const int ready = ::poll(waited, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready == 0) {
      throw Error(Exit::kTryAgain, command.name,
                  fmt::format("it did not end within {} s", command.patience.count()),
                  command.hint);
    }
    // poll() ignores a descriptor of -1.
    if (ready > 0 && waited[1].revents != 0) return {};
    if (ready > 0 && waited[0].revents != 0) open = read_some(child.socket.get(), text);
    if (text.size() > command.most_bytes) {
      throw Error(Exit::kBadInput, command.name,
                  fmt::format("it prints more than {} bytes", command.most_bytes), command.hint);
    }
  }
  // The output may end before the process does. Its status counts: half a list must not be taken
  // for the whole.
  siginfo_t status{};
  pollfd process{child.process.get(), POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  if (::poll(&process, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) > 0 &&
      ::waitid(P_PID, static_cast<id_t>(child.pid), &status, WEXITED | WNOWAIT) == 0 &&
      (status.si_code != CLD_EXITED || status.si_status != 0)) {
    throw Error(Exit::kTryAgain, command.name, "it ended with " + child.ending(),
                "that command in a shell");
  }
  return text;
}

}  // namespace dtl
