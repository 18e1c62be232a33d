#pragma once
// OutputWriter: the launcher's own standard output and error. Each is written by a thread of its
// own, so that a slow terminal never holds up the job. What waits to be written is bounded by the
// credit of the ranks. When both are the same terminal, one thread writes both, in order. Belongs
// to one thread, except for the callbacks, which run on a writer's thread.

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
    std::function<void(std::vector<Credit>)> written;  // of chunks that had a credit
    // errno and how many bytes were lost; each time, but not for a reader that has gone
    std::function<void(Stream, int, std::size_t)> failed;
  };

  OutputWriter(Descriptors descriptors, bool one_screen, Events events);
  ~OutputWriter();  // waits until everything is written

  // In order; never blocks. A chunk without bytes only carries its credit.
  void write(std::vector<Chunk> chunks);
  void write_always(std::vector<Chunk> chunks);  // never dropped: dtlaunch's own words
  // From now on what a call brings is dropped, and counted, while its descriptor is full.
  // For the end of a job, which must not wait for a slow terminal.
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

// Columns of the terminal on `fd`, else of $COLUMNS, else 80; never less than 80.
int terminal_columns(int fd);

}  // namespace dtl
