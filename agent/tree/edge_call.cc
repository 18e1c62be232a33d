// A stopped parent's kernel still accepts connections, so one deadline covers all that is needed
// until the parent itself has answered.
#include "agent/tree/edge_call.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "wire/connect/tcp_connect.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"

namespace dtl {
namespace {

using asio::ip::tcp;

// Bytes that the kernel has not sent. More would wait where `alive` cannot overtake them.
constexpr int kUnsentBytes = 128 << 10;
constexpr int kUnacknowledgedMs = 10'000;  // as long as the lease

Error call_error(const TreeParent& parent, const std::string& reason) {
  return Error(Exit::kUnreachable,
               fmt::format("cannot connect to the agent of node {}", parent.node), reason);
}

awaitable<Fd> connect_to_any(asio::io_context& context, TreeParent parent,
                             Deadline::Clock::time_point by) {
  std::vector<tcp::endpoint> endpoints;
  for (const std::string& text : parent.addresses) {
    boost::system::error_code malformed;
    const auto address = asio::ip::make_address(text, malformed);
    if (!malformed) endpoints.emplace_back(address, static_cast<std::uint16_t>(parent.port));
  }
  if (endpoints.empty()) throw call_error(parent, "it has no address");
  try {
    co_return co_await connect_first(context, std::move(endpoints), by);
  } catch (const Error& error) {
    throw call_error(parent, error.reason());
  }
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
  if (deadline.passed()) throw call_error(parent, "no answer");
  co_return edge;
}

}  // namespace dtl
