#pragma once
// SshSession: one libssh session over a socket of ours, driven by an io_context without ever
// blocking it. libssh works on a copy of the descriptor; we wait on the original, for what
// libssh's poll flags ask for after every call. One thread at a time: the io_context's, or, while a
// worker has it, that worker. Shared by whoever waits for it, so that it outlives their handlers.

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
  // Takes the handle over; it is configured and not connected.
  SshSession(asio::io_context& context, ssh_session_struct* owned_handle);
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  ssh_session_struct* handle() const { return handle_; }
  asio::io_context& context() { return context_; }
  std::string error_text() const;  // libssh's last words about this session

  // Takes the socket over, which is connected. Before any libssh call that talks.
  void attach(Fd socket);
  // Keeps something alive as long as the session: the process behind the socket.
  void keep(std::shared_ptr<void> companion) { companion_ = std::move(companion); }
  // After ssh_connect has succeeded: libssh makes the descriptor blocking when it connects, and one
  // write to a slow link then stops the whole program.
  void forbid_blocking();

  // When it passes, every finish() throws.
  // Of the start. A session that runs has heartbeats instead (clear_deadline()).
  void set_deadline(std::chrono::steady_clock::time_point deadline);
  std::chrono::steady_clock::time_point deadline() const { return deadline_.expiry(); }
  void clear_deadline();
  // Calls `step` again and again, waiting for the socket in between, until it returns something
  // else than SSH_AGAIN. Error(kUnreachable) with the reason that late() gives at the deadline.
  // Not in one expression with co_await: g++ 12 destroys the lambdas' captures twice there.
  awaitable<int> finish(std::function<int()> step, std::function<std::string()> late);

  // Calls `ready` whenever the socket may let libssh get on, until it returns false.
  // Several may run on one session, each for a channel of its own.
  void run(std::function<bool()> ready);
  // Whatever has come, also what no channel polls for any more. Does not block.
  void take_packets_in();
  bool alive() const;
  // Asks for the socket as libssh's poll flags say now. After each libssh call outside `ready`.
  void watch();
  // Resumes everybody who waits in wait().
  // After a change that others wait for, such as a window that has grown.
  void wake() { changed_.cancel(); }
  // Until wake() or the next event of the socket; nobody says which.
  awaitable<void> wait();
  void shut_down();  // of the socket: whatever blocks on it ends with an error
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
  // Without steps and handlers nobody wants the socket, and watch() asks for nothing.
  int steps_ = 0;  // that wait in finish()
  std::vector<std::function<bool()>> ready_;
  std::shared_ptr<void> companion_;  // ours alone; erased type
};

}  // namespace dtl
