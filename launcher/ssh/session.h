#pragma once
// SshSession: one libssh session over our socket, driven by an io_context without blocking it.
// libssh works on a copy of the descriptor; we wait on the original for what libssh's poll flags
// ask for after every call. One thread at a time uses it: the io_context's, or a worker that has
// it. Shared by everybody who waits for it, so that it outlives their handlers.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "wire/asio.h"

struct ssh_session_struct;

namespace dtl {

class SshSession : public std::enable_shared_from_this<SshSession> {
 public:
  // Takes ownership of the handle, which is configured and not connected.
  SshSession(asio::io_context& context, ssh_session_struct* owned_handle);
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  ssh_session_struct* handle() const { return handle_; }
  asio::io_context& context() { return context_; }
  std::string error_text() const;  // libssh's last error about this session

  // Takes ownership of the connected socket. Call it before any libssh call that communicates.
  void attach(Fd socket);
  // Keeps an object alive as long as the session: the process behind the socket.
  void keep(std::shared_ptr<void> companion) { companion_ = std::move(companion); }
  // Call it after ssh_connect has succeeded: libssh makes the descriptor blocking when it connects,
  // and one write to a slow link would then stop the whole program.
  void forbid_blocking();

  // After the deadline every finish() throws. It limits the start; a running session has heartbeats
  // instead (clear_deadline()).
  void set_deadline(std::chrono::steady_clock::time_point deadline);
  std::chrono::steady_clock::time_point deadline() const { return deadline_.expiry(); }
  void clear_deadline();
  // Calls `step` repeatedly, waiting for the socket in between, until it returns anything but
  // SSH_AGAIN. At the deadline throws Error(kUnreachable) with the reason from late(). Do not write
  // the lambdas inside a co_await expression: g++ 12 destroys their captures twice there.
  awaitable<int> finish(std::function<int()> step, std::function<std::string()> late);

  // Calls `ready` whenever the socket has an event, until it returns false. Several may run on one
  // session, each for its own channel.
  void run(std::function<bool()> ready);
  // Reads all received packets, even if no channel polls for them any more. Does not block.
  void take_packets_in();
  bool alive() const;
  // Waits for libssh's current poll flags. Call it after each libssh call outside `ready`.
  void watch();
  // Resumes everybody in wait(), after a change that others wait for, such as a larger window.
  void wake() { changed_.cancel(); }
  // Until wake() or the next event of the socket; the caller checks which.
  awaitable<void> wait();
  void shut_down();  // the socket: calls that block on it fail
  void close();      // idempotent

 private:
  void socket_ready();

  asio::io_context& context_;
  ssh_session_struct* handle_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer changed_;  // never expires; cancelled to wake
  asio::steady_timer deadline_;
  bool late_ = false;
  bool reading_ = false;
  bool writing_ = false;
  // Without steps and handlers watch() waits for no events.
  int steps_ = 0;  // waiting in finish()
  std::vector<std::function<bool()>> ready_;
  std::shared_ptr<void> companion_;  // type-erased; only this session uses it
};

}  // namespace dtl
