#pragma once
// StandardInput: reads dtlaunch's standard input for the ranks that get it. The calling shell may
// go on reading it after us: `while read host; do dtlaunch ...; done <list` must not lose a line.
// So it reads no further ahead than the ranks do, leaves the first bytes in their pipe until the
// ranks have read them, and resets a file's offset to the last byte that they have read.
// InputToRanks decides which ranks get it.
//
// It reads a terminal only while dtlaunch is in its foreground, so a background job is never
// stopped by SIGTTIN and never takes input for the shell. The descriptor stays in blocking mode,
// because it is shared. Belongs to the thread of its io_context.

#include <cstddef>
#include <functional>
#include <memory>

#include "wire/asio.h"
#include "wire/messages.h"

namespace dtl {

// True if a rank here can read the descriptor instead of us: a file or, unless ranks may start
// again with the same input, a pipe or a socket, whose reads by the rank we could not count.
bool can_be_handed_over(int fd, bool comes_once);

class StandardInput {
 public:
  enum class Ahead { kAsRanksRead, kWindow };  // kWindow: up to kStdinWindow at once

  // `send` gets pieces of at most kReadBytes, and a last one with `end`.
  StandardInput(asio::io_context& context, int fd, Ahead ahead, std::function<void(Stdin)> send);
  ~StandardInput();

  // Runs until the end of the input, which is sent, or stop().
  awaitable<void> run();
  // The ranks have taken this many more bytes.
  void taken(std::size_t bytes);
  void stop();
  // Call it at the end: the ranks have read `used` bytes. Returns how many further bytes were read
  // and cannot be given back.
  std::size_t give_back(std::size_t used);
  std::size_t bytes_read() const { return read_; }

 private:
  enum class Source { kFile, kPipe, kSocket, kDevice, kTerminal };

  static Source kind_of(int fd);
  awaitable<bool> wait_readable();
  awaitable<void> wait_until_woken(std::chrono::steady_clock::time_point when);
  bool in_foreground() const;
  // How many bytes may be in transit.
  std::size_t window() const;
  // Like read(2), but may leave the bytes in the pipe.
  ssize_t take(char* buffer, std::size_t most);
  ssize_t peek(char* buffer, std::size_t most) const;
  void read_peeked(std::size_t bytes);

  int fd_;
  Ahead ahead_;
  Source source_;
  std::function<void(Stdin)> send_;
  asio::steady_timer wake_;
  // Reports when fd may be readable; empty for files and devices that cannot be watched and always
  // are.
  std::unique_ptr<asio::posix::stream_descriptor> watched_;
  std::size_t on_the_way_ = 0, taken_ = 0;
  std::size_t read_ = 0;    // from the descriptor
  std::size_t peeked_ = 0;  // sent, but still in the pipe
  bool stopped_ = false;
};

}  // namespace dtl
