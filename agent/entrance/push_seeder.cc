// The seeder reads no byte of a caller: its children do, and a child that a stranger breaks is
// alone. A stranger has kRequestSeconds to show the ticket.
#include "agent/entrance/push_seeder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string_view>
#include <utility>

#include "agent/entrance/peer_socket.h"
#include "base/limits.h"
#include "base/machine/process_handle.h"

namespace dtl {
namespace {

using SeederClock = std::chrono::steady_clock;

constexpr std::size_t kMostCallers = 8;                 // the launcher sends two at a time
constexpr unsigned kRequestSeconds = 5;                 // for a caller to show the ticket
constexpr int kWaitingCallers = 16;                     // listen(2)
constexpr std::chrono::milliseconds kDeafCaller = 10s;  // takes no byte: it has stopped
constexpr std::size_t kOffsetDigits = 16;
constexpr std::size_t kRequestBytes = kTicketDigits + 1 + kOffsetDigits + 1;

// Invalid if no port of the range is free.
Fd listen_on(const SeederWork& work) {
  for (unsigned port = work.low; port <= std::max(work.low, work.high); ++port) {
    const auto address = peer_address(work.address, static_cast<std::uint16_t>(port));
    if (!address) break;
    Fd socket(::socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.valid() && ::bind(socket.get(), address->get(), address->size) == 0 &&
        ::listen(socket.get(), kWaitingCallers) == 0) {
      return socket;
    }
  }
  return Fd();
}

std::uint16_t port_of(const Fd& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size);
  // At the same place for both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

std::uint64_t size_of(const Fd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Whether all bytes from `offset` on were sent.
bool send_file(int socket, const Fd& file, std::uint64_t offset) {
  const std::uint64_t size = size_of(file);
  auto at = static_cast<off_t>(offset);
  while (static_cast<std::uint64_t>(at) < size) {
    const ssize_t count =
        ::sendfile(socket, file.get(), &at, size - static_cast<std::uint64_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
  }
  return true;
}

// In time that does not depend on where they differ.
bool is_ticket(std::string_view shown, std::string_view ticket) {
  unsigned difference = shown.size() == ticket.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(shown.size(), ticket.size()); ++i) {
    difference |= static_cast<unsigned char>(shown[i]) ^ static_cast<unsigned char>(ticket[i]);
  }
  return difference == 0;
}

// In a process of its own. A caller that fails asks the launcher for another seeder.
[[noreturn]] void serve_caller(const Fd& socket, const SeederWork& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(kRequestSeconds);
  set_peer_waits(socket.get(), kDeafCaller);
  std::string request(kRequestBytes, '\0');
  const ssize_t count = ::recv(socket.get(), request.data(), request.size(), MSG_WAITALL);
  request.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const auto asked = read_seeder_request(request, work.ticket);
  if (!asked) ::_exit(0);
  ::alarm(0);
  std::uint64_t offset = *asked;
  for (const Fd& file : work.files) {
    const std::uint64_t size = size_of(file);
    if (offset < size && !send_file(socket.get(), file, offset)) break;
    offset -= std::min(offset, size);
  }
  ::_exit(0);
}

struct Caller {
  pid_t process = 0;
  Fd end;  // readable when the process has ended
};

void take_caller(const Fd& listener, const SeederWork& work, std::vector<Caller>& callers) {
  const Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) return;
  const pid_t process = ::fork();
  if (process == 0) serve_caller(socket, work);
  if (process > 0) callers.push_back({process, watch_child(process)});
}

void seed(const Fd& listener, const Fd& until, const SeederWork& work) {
  const SeederClock::time_point last = SeederClock::now() + kPushDeadline;
  std::vector<Caller> callers;
  while (SeederClock::now() < last) {
    std::vector<pollfd> waiting = {{until.get(), POLLIN, 0}};
    for (const Caller& caller : callers) waiting.push_back({caller.end.get(), POLLIN, 0});
    const bool takes_more = callers.size() < kMostCallers;
    if (takes_more) waiting.push_back({listener.get(), POLLIN, 0});
    const auto idle = callers.empty() ? work.idle : std::chrono::milliseconds(kPushDeadline);
    const int count = ::poll(waiting.data(), waiting.size(), static_cast<int>(idle.count()));
    if (count == 0 || waiting[0].revents != 0) break;
    const bool has_caller = takes_more && waiting.back().revents != 0;
    for (std::size_t i = callers.size(); i > 0; --i) {
      if (waiting[i].revents == 0) continue;
      ::waitpid(callers[i - 1].process, nullptr, 0);
      callers.erase(callers.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if (has_caller) take_caller(listener, work, callers);
  }
  for (const Caller& caller : callers) ::kill(caller.process, SIGKILL);
}

// The launcher's stream must not stay open because of the seeder.
void let_go_of_stream() {
  ::setsid();
  ::signal(SIGPIPE, SIG_IGN);
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; fd <= 2; ++fd) ::dup2(nothing.get(), fd);
}

}  // namespace

std::string seeder_request(const std::string& ticket, std::uint64_t offset) {
  return fmt::format("{} {:016x}\n", ticket, offset);
}

std::optional<std::uint64_t> read_seeder_request(const std::string& request,
                                                 const std::string& ticket) {
  if (request.size() != kRequestBytes || request.back() != '\n' || request[kTicketDigits] != ' ' ||
      !is_ticket(request.substr(0, kTicketDigits), ticket)) {
    return std::nullopt;
  }
  const std::string digits = request.substr(kTicketDigits + 1, kOffsetDigits);
  if (digits.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return std::stoull(digits, nullptr, 16);
}

std::optional<std::uint16_t> start_seeder(SeederWork work) {
  const Fd listener = listen_on(work);
  const Fd until = watch_process(work.until);
  if (!listener.valid() || !until.valid()) return std::nullopt;
  const pid_t process = ::fork();
  if (process < 0) return std::nullopt;
  if (process > 0) return port_of(listener);
  try {
    let_go_of_stream();
    seed(listener, until, work);
  } catch (const std::exception&) {
    // Such as no memory: callers find another seeder.
  }
  ::_exit(0);
}

}  // namespace dtl
