#pragma once
// OutputWriter: writes the launcher's standard output and error. Each has its own thread, so a slow
// terminal never delays the job. The ranks' credit bounds the waiting output. If both are the same
// terminal, one thread writes both, in order. Belongs to one thread, except for the callbacks,
// which run on a writer's thread.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "launcher/screen/line_mixer.h"

namespace dtl {

class OutputWriter {
 public:
  struct Descriptors {
    int out = 1, err = 2;
  };
  // Each may be empty.
  struct Events {
    std::function<void()> closed;                      // nobody reads standard output any more
    std::function<void(std::vector<Credit>)> written;  // chunks with credits were written
    // errno and the number of lost bytes; after each failure, but not if the reader is gone
    std::function<void(Stream, int, std::size_t)> failed;
  };

  OutputWriter(Descriptors descriptors, bool one_screen, Events events);
  ~OutputWriter();  // waits until everything is written

  // In order; never blocks. A chunk without bytes only carries a credit.
  void write(std::vector<Chunk> chunks);
  void write_always(std::vector<Chunk> chunks);  // never dropped: dtlaunch's own messages
  // From now on a call's output is dropped, and counted, while its descriptor is full: the end of a
  // job must not wait for a slow terminal.
  void set_lossy(bool lossy) { lossy_ = lossy; }
  std::size_t dropped_bytes() const { return dropped_bytes_; }

  static constexpr std::size_t kMaxUnwrittenBytes = 4 << 20;

 private:
  class Writer;
  Writer& writer(Stream stream);

  bool lossy_ = false;
  std::size_t dropped_bytes_ = 0;
  std::unique_ptr<Writer> first_, second_;  // second_ is empty on one screen
};

// True when both descriptors are the same terminal.
bool is_one_screen(int out, int err);

// Columns of the terminal on `fd`, else $COLUMNS, else 80; never less than 80.
int terminal_columns(int fd);

}  // namespace dtl
