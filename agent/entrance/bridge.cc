// Copies bytes unchanged; only the two ends know frames. Each direction has a buffer of bounded
// size, so a slow reader slows the writer. Only poll(2) blocks: if both directions were full, a
// blocking write would wait forever.
#include "agent/entrance/bridge.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "agent/entrance/service.h"
#include "agent/processes/kill_tree.h"
#include "base/error.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "wire/greeting.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr std::int64_t kGreetingMs = 2000;  // for a service; a healthy one needs 10
constexpr std::size_t kReadBytes = 64 << 10;

// Appends the available bytes to text. False at the end of the stream.
bool take_some(int fd, std::string& text) {
  std::array<char, kReadBytes> buffer;
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

// Writes as much as fits and removes it from text. False if nobody reads any more.
bool write_some(int fd, std::string& text) {
  const ssize_t size = ::write(fd, text.data(), text.size());
  if (size > 0) text.erase(0, static_cast<std::size_t>(size));
  return size >= 0 || errno == EAGAIN || errno == EINTR;
}

// All bytes up to the moment when the greeting is complete; bytes after the greeting are for the
// launcher. Empty if the greeting is late or of another version.
std::string read_greeting(int socket) {
  std::string received;
  const std::int64_t deadline = boot_time_ms() + kGreetingMs;
  for (;;) {
    if (const auto found = find_greeting(received)) {
      const bool same =
          found->greeting.protocol == kProtocol && found->greeting.version == DTL_VERSION;
      return same ? received : std::string();
    }
    const std::int64_t left = deadline - boot_time_ms();
    pollfd waiting{socket, POLLIN, 0};
    if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) <= 0) return {};
    if (!take_some(socket, received)) return {};
  }
}

// One direction.
struct Lane {
  int from = -1, to = -1;
  std::string waiting;
  bool ended = false;  // nothing more to read

  short wanted_input() const { return !ended && waiting.size() < kReadBytes ? POLLIN : 0; }
  short wanted_output() const { return waiting.empty() ? 0 : POLLOUT; }
};

}  // namespace

ServiceAgent ask_service() {
  for (const std::string& folder : runtime_folders()) {
    ServiceAgent agent;
    agent.socket = connect_unix(folder + "/" + kServiceSocket);
    if (!agent.socket.valid()) continue;
    agent.greeting = read_greeting(agent.socket.get());
    if (!agent.greeting.empty()) return agent;
  }
  return {};
}

Fd find_agent_of(const std::string& link) {
  for (const std::string& folder : runtime_folders()) {
    try {
      Fd agent = connect_unix(folder + "/" + kLinksFolder + "/" + link);
      if (agent.valid()) return agent;
    } catch (const Error&) {
      continue;  // too long for a socket's path
    }
  }
  return Fd();
}

void run_bridge(ServiceAgent agent, Fd input, Fd output) {
  const int socket = agent.socket.get();
  for (const int fd : {socket, input.get(), output.get()}) set_nonblocking(fd);
  Lane down{input.get(), socket, {}, false};
  Lane up{socket, output.get(), std::move(agent.greeting), false};
  // Only the agent's side ends the bridge: a launcher that has sent everything still waits for
  // answers.
  while (!up.ended || !up.waiting.empty()) {
    pollfd ends[] = {{down.from, down.wanted_input(), 0},
                     {up.to, up.wanted_output(), 0},
                     {socket, static_cast<short>(up.wanted_input() | down.wanted_output()), 0}};
    for (pollfd& end : ends) {
      // poll(2) reports a hang-up even if no events are requested, and would return immediately
      // each time.
      if (end.events == 0) end.fd = -1;
    }
    if (::poll(ends, 3, -1) < 0 && errno != EINTR) return;
    if (ends[0].revents != 0 && !take_some(down.from, down.waiting)) down.ended = true;
    if ((ends[2].revents & (POLLIN | POLLHUP)) != 0 && up.wanted_input() != 0 &&
        !take_some(socket, up.waiting)) {
      up.ended = true;
    }
    if (!up.waiting.empty() && !write_some(up.to, up.waiting)) return;
    // An agent that stopped reading may still have written something.
    if (!down.waiting.empty() && !write_some(socket, down.waiting)) down.waiting.clear();
    // Only after all bytes are written: the agent must not see the end before them.
    if (down.ended && down.waiting.empty()) ::shutdown(socket, SHUT_WR);
  }
}

}  // namespace dtl
