// libssh never waits: we call it repeatedly and wait for the socket in between. Whatever libssh has
// read may concern another coroutine, so each event wakes all of them.
#include "launcher/ssh/session.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <sys/socket.h>

#include <new>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace dtl {

SshSession::SshSession(asio::io_context& context, ssh_session_struct* owned_handle)
    : context_(context),
      handle_(owned_handle),
      socket_(context),
      changed_(context, asio::steady_timer::time_point::max()),
      deadline_(context, asio::steady_timer::time_point::max()) {}

SshSession::~SshSession() {
  // Closes libssh's copy of the descriptor exactly once, whatever the session's state;
  // ssh_disconnect alone would leave it open.
  ssh_silent_disconnect(handle_);
  ssh_free(handle_);
}

std::string SshSession::error_text() const {
  return printable(ssh_get_error(handle_));  // may contain a server's text
}

void SshSession::attach(Fd socket) {
  // Two owners, each with its own descriptor: libssh closes the one that it gets, asio the other.
  socket_t copy = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw system_error("cannot duplicate a descriptor");
  socket_.assign(socket.release());
  ssh_options_set(handle_, SSH_OPTIONS_FD, &copy);
  ssh_set_blocking(handle_, 0);
}

void SshSession::forbid_blocking() {
  set_nonblocking(socket_.native_handle());
}

void SshSession::set_deadline(std::chrono::steady_clock::time_point deadline) {
  deadline_.expires_at(deadline);
  // Weak: a timer must not keep an unused session alive.
  deadline_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self) return;
    self->late_ = true;
    self->wake();
  });
}

void SshSession::clear_deadline() {
  deadline_.cancel();
}

awaitable<int> SshSession::finish(std::function<int()> step, std::function<std::string()> late) {
  const auto self = shared_from_this();
  for (;;) {
    // Before each call, so a server that keeps sending cannot delay the deadline.
    if (late_) throw Error(Exit::kUnreachable, "cannot start agent", late());
    const int result = step();
    if (result != SSH_AGAIN) co_return result;
    ++steps_;
    watch();
    co_await wait();
    --steps_;
  }
}

void SshSession::run(std::function<bool()> ready) {
  ready_.push_back(std::move(ready));
  watch();
}

void SshSession::take_packets_in() {
  // libssh polls for a channel only until its far end has ended; an ssh_event polls the session.
  ssh_event event = ssh_event_new();
  if (event == nullptr) throw std::bad_alloc();
  ssh_event_add_session(event, handle_);
  ssh_event_dopoll(event, 0);
  ssh_event_remove_session(event, handle_);
  ssh_event_free(event);
}

bool SshSession::alive() const {
  return socket_.is_open() && ssh_is_connected(handle_) != 0;
}

void SshSession::watch() {
  if ((steps_ == 0 && ready_.empty()) || !socket_.is_open()) return;
  // A socket is almost always writable, so wait for that only if there is data to write.
  const bool write = (ssh_get_poll_flags(handle_) & SSH_WRITE_PENDING) != 0;
  if (!reading_) {
    reading_ = true;
    socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](boost::system::error_code cancelled) {
                         self->reading_ = false;
                         if (!cancelled) self->socket_ready();
                       });
  }
  if (write && !writing_) {
    writing_ = true;
    socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                       [self = shared_from_this()](boost::system::error_code cancelled) {
                         self->writing_ = false;
                         if (!cancelled) self->socket_ready();
                       });
  }
}

void SshSession::socket_ready() {
  // A handler must not call run(): it would change the list during the iteration.
  std::erase_if(ready_, [](const std::function<bool()>& ready) { return !ready(); });
  watch();
  wake();
}

awaitable<void> SshSession::wait() {
  boost::system::error_code woken;
  co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

void SshSession::shut_down() {
  if (socket_.is_open()) ::shutdown(socket_.native_handle(), SHUT_RDWR);
}

void SshSession::close() {
  ready_.clear();
  deadline_.cancel();
  boost::system::error_code ignored;  // closing twice is harmless
  socket_.close(ignored);
  wake();
}

}  // namespace dtl
