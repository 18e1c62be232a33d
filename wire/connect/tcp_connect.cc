// A race between attempts that start one after another. The first that connects wins, and all
// others are closed.
#include "wire/connect/tcp_connect.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "wire/private_socket.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;
using asio::ip::tcp;

constexpr std::chrono::milliseconds kStagger{250};  // RFC 8305, section 5
constexpr int kKeepaliveIdleSeconds = 2;            // a dead peer is noticed after 2 + 3 * 1 s
constexpr int kKeepaliveIntervalSeconds = 1;
constexpr int kKeepaliveProbes = 3;
constexpr int kUserTimeoutMs = 10'000;  // unacknowledged data: as long as the agent's lease

// Shared by the coroutine and the handlers of its attempts, the losers' included.
struct Race {
  explicit Race(asio::io_context& context) : wake(context) {}
  std::vector<std::unique_ptr<tcp::socket>> sockets;
  std::size_t failed = 0;
  std::optional<std::size_t> winner;
  boost::system::error_code first_error;
  asio::steady_timer wake;
};

void start_attempt(asio::io_context& context, const std::shared_ptr<Race>& race,
                   const tcp::endpoint& endpoint) {
  const std::size_t index = race->sockets.size();
  race->sockets.push_back(std::make_unique<tcp::socket>(context));
  // CLOEXEC from the start: asio's own open would leak the socket to a program that another thread
  // starts meanwhile.
  open_in_this_process(*race->sockets.back(), endpoint.protocol());
  race->sockets.back()->async_connect(endpoint, [race, index](boost::system::error_code error) {
    if (error) {
      ++race->failed;
      // Usually the preferred address's: the message names one reason.
      if (!race->first_error) race->first_error = error;
    } else if (!race->winner) {
      race->winner = index;
    }
    race->wake.cancel();
  });
}

Error failure(const std::vector<tcp::endpoint>& endpoints, const std::string& reason,
              const std::string& hint) {
  std::ostringstream where;
  for (const tcp::endpoint& endpoint : endpoints) {
    where << (where.tellp() > 0 ? ", " : "") << endpoint;
  }
  return Error(Exit::kUnreachable, fmt::format("cannot connect to {}", where.str()), reason, hint);
}

void set_option(int fd, int level, int name, int value) {
  // Best effort: without keepalive a socket still works, and heartbeats watch it too.
  ::setsockopt(fd, level, name, &value, sizeof value);
}

Fd take(tcp::socket& socket) {
  Fd fd(socket.release());
  set_link_options(fd.get());
  return fd;
}

}  // namespace

void set_link_options(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
}

awaitable<Fd> connect_first(asio::io_context& context, std::vector<tcp::endpoint> endpoints,
                            Clock::time_point deadline, std::string hint) {
  auto race = std::make_shared<Race>(context);
  for (;;) {
    const std::size_t started = race->sockets.size();
    // Starts another one if none is in progress, or if the last one is 250 ms old.
    const bool more = started < endpoints.size();
    if (more && (started == 0 || race->failed == started || Clock::now() >= race->wake.expiry())) {
      start_attempt(context, race, endpoints[started]);
      race->wake.expires_at(std::min(deadline, Clock::now() + kStagger));
    }
    // All have started: from now on only the deadline counts.
    if (race->sockets.size() == endpoints.size()) race->wake.expires_at(deadline);
    boost::system::error_code woken;
    co_await race->wake.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (race->winner) {
      Fd fd = take(*race->sockets[*race->winner]);
      for (auto& socket : race->sockets) {
        boost::system::error_code ignored;  // the losers' results do not matter
        socket->close(ignored);
      }
      co_return fd;
    }
    const bool all_failed = race->failed == endpoints.size();
    if (!all_failed && Clock::now() < deadline) continue;
    for (auto& socket : race->sockets) {
      boost::system::error_code ignored;
      socket->close(ignored);
    }
    if (all_failed) throw failure(endpoints, race->first_error.message(), hint);
    throw failure(endpoints, "no answer", hint);
  }
}

}  // namespace dtl
