#pragma once
// StandardInput: dtlaunch's own standard input, on its way to the ranks that get it. At most
// kStdinWindow bytes are sent and not yet taken. A terminal is read only while dtlaunch is in its
// foreground, so a job in the background is never stopped by SIGTTIN and never eats what is typed
// for the shell. The descriptor stays in blocking mode, because it is shared with whoever started
// dtlaunch.

#include <cstddef>
#include <functional>
#include <memory>

#include "wire/asio.h"
#include "wire/messages.h"

namespace dtl {

class StandardInput {
 public:
  StandardInput(asio::io_context& context, int fd, std::function<void(Stdin)> send);
  ~StandardInput();

  // Until the end of the input, which is sent, or stop().
  awaitable<void> run();
  void taken(std::size_t bytes);
  std::size_t bytes_read() const { return bytes_read_; }
  void stop();

 private:
  awaitable<bool> wait_readable();
  awaitable<void> wait_until_woken(std::chrono::steady_clock::time_point when);
  bool in_foreground() const;

  int fd_;
  std::function<void(Stdin)> send_;
  asio::steady_timer wake_;
  // Tells when fd may be readable; empty for files and devices that cannot be watched and always
  // are.
  std::unique_ptr<asio::posix::stream_descriptor> watched_;
  std::size_t on_the_way_ = 0, bytes_read_ = 0;
  bool stopped_ = false;
};

}  // namespace dtl
