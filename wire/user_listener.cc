// Accepts without waiting, as many as there are: the descriptor is non-blocking, and asio only says
// that somebody has come.
#include "wire/user_listener.h"

#include <sys/socket.h>

#include <utility>

#include "base/machine/unix_socket.h"

namespace dtl {

UserListener::UserListener(asio::io_context& context, Taken taken, std::function<void()> refused)
    : socket_(context), taken_(std::move(taken)), refused_(std::move(refused)) {}

void UserListener::start(Fd listening) {
  socket_.assign(listening.release());
  socket_.non_blocking(true);
  wait();
}

void UserListener::close() {
  boost::system::error_code ignored;  // it is open until here
  socket_.close(ignored);
}

void UserListener::wait() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code cancelled) {
                       if (cancelled) return;
                       take_all();
                       if (socket_.is_open()) wait();
                     });
}

void UserListener::take_all() {
  bool others = false;
  while (socket_.is_open()) {
    Fd peer(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer.valid()) break;  // nobody left, or out of descriptors: the next event tries again
    // The socket's mode keeps others out already; this holds also where the folder's file system
    // ignores it.
    if (peer_is_same_user(peer.get())) {
      taken_(std::move(peer));
    } else {
      others = true;
    }
  }
  if (others && refused_) refused_();
}

}  // namespace dtl
