// Accepts all waiting connections without blocking: the descriptor is non-blocking, and asio only
// reports that a connection is waiting.
#include "wire/user_listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/machine/unix_socket.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

// Without free descriptors the socket stays readable: without this pause, waiting would busy-loop
// until somebody closes one.
constexpr auto kPause = 100ms;

}  // namespace

UserListener::UserListener(asio::io_context& context, Taken taken, std::function<void()> refused)
    : socket_(context), pause_(context), taken_(std::move(taken)), refused_(std::move(refused)) {}

void UserListener::start(Fd listening) {
  socket_.assign(listening.release());
  socket_.non_blocking(true);
  wait();
}

void UserListener::close() {
  boost::system::error_code ignored;  // it is always open here
  socket_.close(ignored);
  pause_.cancel();
}

void UserListener::wait() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code cancelled) {
                       if (cancelled) return;
                       const bool all = take_all();
                       if (!socket_.is_open()) return;
                       if (all) return wait();
                       pause_.expires_after(kPause);
                       pause_.async_wait([this](boost::system::error_code closed) {
                         if (!closed && socket_.is_open()) wait();
                       });
                     });
}

bool UserListener::take_all() {
  bool others = false, all = true;
  while (socket_.is_open()) {
    Fd peer(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer.valid()) {
      all = errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
      break;
    }
    // The socket's mode already keeps other users out, but some file systems ignore it.
    if (peer_is_same_user(peer.get())) {
      taken_(std::move(peer));
    } else {
      others = true;
    }
  }
  if (others && refused_) refused_();
  return all;
}

}  // namespace dtl
