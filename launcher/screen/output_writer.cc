// A credit is returned only after its chunk is written: that is how a slow reader slows the ranks.
#include "launcher/screen/output_writer.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kBatchBytes = 64 << 10;

// Returns errno and leaves the unwritten rest in `bytes`.
int write_out(int fd, GatheredWrite& bytes) {
  while (bytes.left() > 0) {
    const int problem = bytes.write_some(fd);
    if (problem == EAGAIN) {  // another process made the descriptor non-blocking
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (problem != 0) {
      return problem;
    }
  }
  return 0;
}

}  // namespace

class OutputWriter::Writer {
 public:
  Writer(Descriptors descriptors, Events events)
      : descriptors_(descriptors), events_(std::move(events)) {}

  ~Writer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
  }  // ~jthread joins

  void push(Chunk chunk) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_[chunk.stream == Stream::kStderr]) chunk.bytes.clear();  // its credit still counts
      waiting_ += chunk.bytes.size();
      queue_.push_back(std::move(chunk));
    }
    changed_.notify_all();
    // An unused stream needs no thread.
    if (!thread_.joinable()) thread_ = std::jthread([this] { run(); });
  }

  bool full() {
    const std::lock_guard lock(mutex_);
    return waiting_ > kMaxUnwrittenBytes;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      // A write may block for hours, so it runs without the lock, and push() does not block.
      const std::vector<Chunk> batch = next_batch();
      const bool error_stream = batch.front().stream == Stream::kStderr;
      const bool open = !closed_[error_stream];
      GatheredWrite bytes;
      for (const Chunk& chunk : batch) bytes.add(chunk.bytes);
      const std::size_t size = bytes.left();
      lock.unlock();
      int problem = 0;
      if (open) problem = write_out(error_stream ? descriptors_.err : descriptors_.out, bytes);
      lock.lock();
      waiting_ -= size;
      report(lock, error_stream, problem, bytes.left());
    }
  }

  // The waiting output for one descriptor, as one write; its credits go to credits_.
  std::vector<Chunk> next_batch() {
    std::vector<Chunk> batch;
    std::size_t size = 0;
    while (!queue_.empty() && size < kBatchBytes) {
      Chunk& next = queue_.front();
      // A chunk without bytes only has a credit, for any stream.
      if (!batch.empty() && next.stream != batch.front().stream && !next.bytes.empty()) break;
      size += next.bytes.size();
      if (next.credit) credits_.push_back(*next.credit);
      batch.push_back(std::move(next));
      queue_.pop_front();
    }
    return batch;
  }

  // Stops after the reader is gone; a full disk may have space again. Releases the lock, because
  // the callbacks may push.
  void report(std::unique_lock<std::mutex>& lock, bool error_stream, int problem,
              std::size_t lost) {
    const bool newly_closed = problem == EPIPE && !std::exchange(closed_[error_stream], true);
    lock.unlock();
    if (newly_closed && !error_stream && events_.closed) events_.closed();
    if (problem != 0 && problem != EPIPE && events_.failed) {
      events_.failed(error_stream ? Stream::kStderr : Stream::kStdout, problem, lost);
    }
    if (!credits_.empty() && events_.written) events_.written(credits_);
    credits_.clear();
    lock.lock();
  }

  Descriptors descriptors_;
  Events events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> queue_;
  std::size_t waiting_ = 0;      // bytes in queue_ and in the current write
  std::vector<Credit> credits_;  // of the current write; used by the thread alone
  bool ending_ = false;
  bool closed_[2] = {false, false};
  std::jthread thread_;  // last: it uses the members above
};

OutputWriter::OutputWriter(Descriptors descriptors, bool one_screen, Events events) {
  Events of_errors = events;
  // Only the loss of standard output's reader ends the job.
  of_errors.closed = {};
  first_ = std::make_unique<Writer>(descriptors, std::move(events));
  if (!one_screen) second_ = std::make_unique<Writer>(descriptors, std::move(of_errors));
}

OutputWriter::~OutputWriter() = default;

OutputWriter::Writer& OutputWriter::writer(Stream stream) {
  return stream == Stream::kStdout || !second_ ? *first_ : *second_;
}

void OutputWriter::write(std::vector<Chunk> chunks) {
  // Checked once for each call: its chunks are dropped together.
  const bool full[] = {lossy_ && writer(Stream::kStdout).full(),
                       lossy_ && writer(Stream::kStderr).full()};
  for (Chunk& chunk : chunks) {
    Writer& to = writer(chunk.stream);
    if (full[chunk.stream == Stream::kStderr]) {
      dropped_bytes_ += chunk.bytes.size();
      chunk.bytes.clear();
    }
    if (!chunk.bytes.empty() || chunk.credit) to.push(std::move(chunk));
  }
}

void OutputWriter::write_always(std::vector<Chunk> chunks) {
  for (Chunk& chunk : chunks) {
    Writer& to = writer(chunk.stream);
    to.push(std::move(chunk));
  }
}

bool is_one_screen(int out, int err) {
  if (::isatty(out) == 0 || ::isatty(err) == 0) return false;
  struct stat a {
  }, b{};
  // Compares the device's number, because the descriptors may have been opened by different names.
  return ::fstat(out, &a) == 0 && ::fstat(err, &b) == 0 && a.st_rdev == b.st_rdev;
}

int terminal_columns(int fd) {
  winsize size{};
  int columns = 0;
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (const char* text = std::getenv("COLUMNS"); columns == 0 && text != nullptr) {
    columns = static_cast<int>(parse_integer(text, 0, 10000).value_or(0));
  }
  return std::max(columns, 80);
}

}  // namespace dtl
