// A caller's deadline covers everything up to the answer and ends when it has a place: from then on
// heartbeats watch the connection.
#include "launcher/join/join_door.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"
#include "wire/tls/tls_stream.h"

namespace dtl {
namespace {

constexpr int kMostStrangers = 64;                      // unauthenticated callers at a time
constexpr std::chrono::seconds kStrangerPatience{3};    // for each caller; a handshake takes 1 ms
constexpr std::chrono::milliseconds kListenPause{100};  // between two tries while the port is taken
constexpr int kTriesBeforeAWord = 10;

}  // namespace

JoinDoor::JoinDoor(asio::io_context& context, TaskGroup& tasks, PortRange ports, std::string token,
                   Guests guests)
    : context_(context),
      tasks_(tasks),
      token_(std::move(token)),
      guests_(std::move(guests)),
      listener_(context, ports, [this](Fd caller) { take(std::move(caller)); }) {}

void JoinDoor::take(Fd caller) {
  // Above the limit the socket is closed. A real node tries again within half a second.
  if (strangers_ < kMostStrangers) tasks_.spawn(meet(std::make_shared<Fd>(std::move(caller))));
}

awaitable<void> JoinDoor::meet(std::shared_ptr<Fd> socket) {
  ++strangers_;
  std::shared_ptr<JoinChannel> node;
  std::optional<std::size_t> place;
  try {
    auto tls = std::make_unique<TlsStream>(make_fd_stream(context_, std::move(*socket)),
                                           TlsSession::Side::kListens, token_);
    const StreamDeadline deadline(context_, *tls, kStrangerPatience);
    co_await tls->shake_hands();
    node = std::make_shared<JoinChannel>(context_, std::move(tls));
    const std::optional<JoinFrame> first = co_await node->receive();
    if (first && first->kind == JoinFrame::Kind::kHello) {
      place = co_await guests_.answer(node, first->text);
    }
  } catch (const Error& error) {
    // Only a debug line: anyone may connect, as often as they like.
    log_debug(fmt::format("hung up on a caller: {}", error.what()));
  }
  // Before serve(), which lasts as long as the job.
  --strangers_;
  if (place) co_await guests_.serve(*place, std::move(node));
}

void JoinDoor::open_again() {
  if (locked_ || listener_.open_again() || std::exchange(trying_, true)) return;
  tasks_.spawn(try_to_open());
}

// The process that holds the port may be our child between fork and exec, which has a copy of the
// listening socket for a moment.
awaitable<void> JoinDoor::try_to_open() {
  asio::steady_timer pause(context_);
  for (int tries = 1; !locked_ && !listener_.open_again(); ++tries) {
    // After one second: a child between fork and exec has long released the port.
    if (tries == kTriesBeforeAWord) {
      log_error(fmt::format("cannot wait for a node to come back: port {} is not free", port()));
    }
    pause.expires_after(kListenPause);
    boost::system::error_code never;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, never));
  }
  trying_ = false;
}

void JoinDoor::close() {
  listener_.close();
}

void JoinDoor::lock() {
  locked_ = true;
  close();
}

}  // namespace dtl
