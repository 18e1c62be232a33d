// Anybody who finds the port may connect, as often as they like: so there are no messages about it.
#include "agent/tree/edge_listener.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/text.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"

namespace dtl {
namespace {

constexpr int kMostStrangers = 64;
constexpr std::chrono::seconds kStrangerPatience{3};
constexpr std::chrono::milliseconds kShortage{100};  // wait after running out of descriptors
constexpr std::string_view kFirstWord = "DTLAUNCH-TREE ";
constexpr std::size_t kMostOfLine = kFirstWord.size() + 11;  // with the largest number

// Without the line end; nothing after it is read. Empty: the caller says something else, or hangs
// up. The deadline closes the socket.
awaitable<std::string> read_first_line(asio::posix::stream_descriptor& socket) {
  std::string line;
  while (line.size() < kMostOfLine) {
    char byte = 0;
    const ssize_t size = ::recv(socket.native_handle(), &byte, 1, MSG_DONTWAIT);
    if (size == 1 && byte == '\n') co_return line;
    if (size == 1) {
      line += byte;
      continue;
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) break;
    boost::system::error_code closed;
    co_await socket.async_wait(asio::posix::stream_descriptor::wait_read,
                               asio::redirect_error(asio::use_awaitable, closed));
    if (closed) break;
  }
  co_return std::string();
}

std::optional<std::uint32_t> node_of(std::string_view line) {
  if (!line.starts_with(kFirstWord)) return std::nullopt;
  const std::string number(line.substr(kFirstWord.size()));
  const auto node = parse_integer(number, 0, UINT32_MAX);
  if (!node || number != std::to_string(*node)) return std::nullopt;
  return static_cast<std::uint32_t>(*node);
}

}  // namespace

EdgeListener::EdgeListener(asio::io_context& context, TaskGroup& tasks, std::uint32_t low,
                           std::uint32_t high, std::string relay_key, Taken taken)
    : context_(context),
      tasks_(tasks),
      relay_key_(std::move(relay_key)),
      taken_(std::move(taken)),
      v4_(context),
      v6_(context) {
  BoundPort bound = high == 0 ? bind_any_port() : bind_port_within(low, high);
  port_ = bound.port;
  start(v4_, std::move(bound.v4));
  if (bound.v6.valid()) start(v6_, std::move(bound.v6));
}

void EdgeListener::start(Socket& socket, Fd listening) {
  socket.accepts.assign(listening.release());
  socket.accepts.non_blocking(true);
  wait(socket);
}

void EdgeListener::wait(Socket& socket) {
  socket.accepts.async_wait(
      asio::posix::stream_descriptor::wait_read,
      [this, &socket](boost::system::error_code cancelled) {
        if (cancelled) return;
        const bool all = take_all(socket);
        if (closed_) return;
        if (all) return wait(socket);
        socket.shortage.expires_after(kShortage);
        socket.shortage.async_wait([this, &socket](boost::system::error_code ended) {
          if (!ended && !closed_) wait(socket);
        });
      });
}

bool EdgeListener::take_all(Socket& socket) {
  while (!closed_) {
    auto caller = std::make_shared<Fd>(
        ::accept4(socket.accepts.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!caller->valid()) {
      return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    }
    // A real agent calls again.
    if (strangers_ < kMostStrangers) tasks_.spawn(meet(std::move(caller)));
  }
  return true;
}

awaitable<void> EdgeListener::meet(std::shared_ptr<Fd> caller) {
  ++strangers_;
  ProvedEdge edge;
  std::optional<std::uint32_t> node;
  const auto by = Deadline::Clock::now() + kStrangerPatience;
  try {
    set_edge_options(caller->get());
    asio::posix::stream_descriptor socket(context_, caller->release());
    {
      const Deadline deadline(context_, by, [&socket] {
        boost::system::error_code ignored;
        socket.close(ignored);
      });
      node = node_of(co_await read_first_line(socket));
    }
    if (node) {
      edge.socket = socket.native_handle();
      edge.stream = std::make_shared<TlsStream>(
          make_fd_stream(context_, Fd(socket.release())), TlsSession::Side::kListens,
          hmac_sha256(relay_key_, std::to_string(*node)), kEdgePurpose);
      const StreamDeadline deadline(context_, *edge.stream, by);
      co_await edge.stream->shake_hands();
      if (deadline.passed()) node.reset();
    }
  } catch (const Error& error) {
    log_debug(fmt::format("hung up on a caller: {}", error.what()));
    node.reset();
  }
  --strangers_;
  if (node && !closed_) taken_(*node, std::move(edge));
}

void EdgeListener::close() {
  closed_ = true;
  boost::system::error_code ignored;
  for (Socket* socket : {&v4_, &v6_}) {
    socket->accepts.close(ignored);
    socket->shortage.cancel();
  }
}

}  // namespace dtl
