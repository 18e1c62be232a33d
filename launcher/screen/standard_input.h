#pragma once
// StandardInput: dtlaunch's own standard input, on its way to the ranks that get it. The calling
// shell may go on reading it after us: `while read host; do dtlaunch ...; done <list` must not lose
// a line. So we read no further ahead than the ranks have read, leave the first bytes in their pipe
// until the ranks have read them, and set a file back to the last byte that they have read. To
// which ranks it goes is InputToRanks' business.
//
// A terminal is read only while dtlaunch is in its foreground, so a job in the background is never
// stopped by SIGTTIN and never eats what is typed for the shell. The descriptor stays in blocking
// mode, because it is shared. Belongs to the thread of its io_context.

#include <cstddef>
#include <functional>
#include <memory>

#include "wire/asio.h"
#include "wire/messages.h"

namespace dtl {

// True for what a rank here can read as well as we can: a file or, if ranks are not to be started
// again with the same input, a pipe or a socket. We could not tell how much of those it has read.
bool can_be_handed_over(int fd, bool comes_once);

class StandardInput {
 public:
  enum class Ahead { kAsRanksRead, kWindow };  // kWindow: as far as kStdinWindow at once

  // `send` gets pieces of at most kReadBytes, and a last one with `end`.
  StandardInput(asio::io_context& context, int fd, Ahead ahead, std::function<void(Stdin)> send);
  ~StandardInput();

  // Until the end of the input, which is sent, or stop().
  awaitable<void> run();
  // The ranks have taken so many bytes more.
  void taken(std::size_t bytes);
  void stop();
  // Afterwards: `used` bytes are what ranks have read. Returns how many more were read and cannot
  // be given back.
  std::size_t give_back(std::size_t used);
  std::size_t bytes_read() const { return read_; }

 private:
  enum class Source { kFile, kPipe, kSocket, kDevice, kTerminal };

  static Source kind_of(int fd);
  awaitable<bool> wait_readable();
  awaitable<void> wait_until_woken(std::chrono::steady_clock::time_point when);
  bool in_foreground() const;
  // How many bytes may be on their way.
  std::size_t window() const;
  // As read(2); may leave the bytes where they are.
  ssize_t take(char* buffer, std::size_t most);
  ssize_t peek(char* buffer, std::size_t most) const;
  void read_peeked(std::size_t bytes);

  int fd_;
  Ahead ahead_;
  Source source_;
  std::function<void(Stdin)> send_;
  asio::steady_timer wake_;
  // Tells when fd may be readable; empty for files and devices that cannot be watched and always
  // are.
  std::unique_ptr<asio::posix::stream_descriptor> watched_;
  std::size_t on_the_way_ = 0, taken_ = 0;
  std::size_t read_ = 0;    // from the descriptor
  std::size_t peeked_ = 0;  // sent, and still to be read from it
  bool stopped_ = false;
};

}  // namespace dtl
