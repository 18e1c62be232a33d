// A stopped parent's kernel still accepts connections, so one deadline covers all that is needed
// until the parent itself has answered.
#include "agent/tree/edge_call.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"
#include "wire/private_socket.h"

namespace dtl {
namespace {

using asio::ip::tcp;

// Bytes that the kernel has not sent. More would wait where `alive` cannot overtake them.
constexpr int kUnsentBytes = 128 << 10;
constexpr int kUnacknowledgedMs = 10'000;  // as long as the lease

// Shared by the coroutine and the handlers of all attempts.
struct CallRace {
  explicit CallRace(asio::io_context& context)
      : wake(context, asio::steady_timer::time_point::max()) {}
  std::vector<std::unique_ptr<tcp::socket>> sockets;
  std::size_t failed = 0;
  std::optional<std::size_t> winner;
  boost::system::error_code last_error;
  asio::steady_timer wake;
};

void start_attempt(asio::io_context& context, const std::shared_ptr<CallRace>& race,
                   const tcp::endpoint& endpoint) {
  const std::size_t index = race->sockets.size();
  race->sockets.push_back(std::make_unique<tcp::socket>(context));
  open_in_this_process(*race->sockets.back(), endpoint.protocol());
  race->sockets.back()->async_connect(endpoint, [race, index](boost::system::error_code error) {
    if (error) {
      ++race->failed;
      race->last_error = error;
    } else if (!race->winner) {
      race->winner = index;
    }
    race->wake.cancel();
  });
}

awaitable<Fd> connect_to_any(asio::io_context& context, TreeParent parent,
                             Deadline::Clock::time_point by) {
  auto race = std::make_shared<CallRace>(context);
  for (const std::string& text : parent.addresses) {
    boost::system::error_code malformed;
    const auto address = asio::ip::make_address(text, malformed);
    if (malformed) continue;
    start_attempt(context, race, {address, static_cast<std::uint16_t>(parent.port)});
  }
  bool late = false;
  while (!race->winner && race->failed < race->sockets.size() && !late) {
    race->wake.expires_at(by);
    boost::system::error_code woken;
    co_await race->wake.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    late = !woken;
  }
  Fd winner;
  if (race->winner) winner = Fd(race->sockets[*race->winner]->release());
  race->sockets.clear();
  if (winner.valid()) co_return winner;
  const std::string reason = late ? "no answer" : race->last_error.message();
  throw Error(Exit::kUnreachable,
              fmt::format("cannot connect to the agent of node {}", parent.node),
              race->failed == 0 && !late ? "it has no address" : reason);
}

}  // namespace

void set_edge_options(int socket) {
  const auto set = [socket](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);  // each is for the better only
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentBytes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

awaitable<ProvedEdge> call_parent(asio::io_context& context, TreeParent parent,
                                  std::uint32_t node) {
  const auto by = Deadline::Clock::now() + kEdgePatience;
  Fd socket = co_await connect_to_any(context, parent, by);
  set_edge_options(socket.get());
  ProvedEdge edge;
  edge.socket = socket.get();
  const std::shared_ptr<ByteStream> carrier = make_fd_stream(context, std::move(socket));
  const StreamDeadline deadline(context, *carrier, by);
  co_await carrier->write(fmt::format("DTLAUNCH-TREE {}\n", node));
  edge.stream =
      std::make_shared<TlsStream>(carrier, TlsSession::Side::kCalls, parent.key, kEdgePurpose);
  co_await edge.stream->shake_hands();
  if (deadline.passed()) {
    throw Error(Exit::kUnreachable,
                fmt::format("cannot connect to the agent of node {}", parent.node), "no answer");
  }
  co_return edge;
}

}  // namespace dtl
