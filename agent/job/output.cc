// A rank must not wait long because nobody reads its output, and memory must not grow. So the agent
// sends output on credit. Without credit it drops output and reports that in its place. It cuts
// between lines where possible, and moves large pieces without a copy.
#include "agent/job/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <utility>

#include "agent/job/supervisor.h"
#include "agent/processes/kill_tree.h"
#include "base/limits.h"
#include "wire/byte_stream.h"

namespace dtl {
namespace {

// A piece of at least this size is sent in the buffer that it was read into. A smaller one is
// copied: otherwise it would hold a buffer of kMaxOutputBytes while it waits.
constexpr std::size_t kWorthItsBuffer = kMaxOutputBytes / 4;

constexpr auto kLookForArrival = 100ms;  // a receipt arrives each second

// A longer line is sent in pieces as it is read.
constexpr std::size_t kHeldLine = 4 << 10;

using Clock = asio::steady_timer::clock_type;

bool has_more(int pipe) {
  int bytes = 0;
  return ::ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0;
}

// The size of the unfinished line at the end of a read: it is sent with its rest, which waits in
// the pipe. Where CPU time is scarce, or frames go through other nodes, that rest may otherwise
// come so late that the launcher takes the beginning for a prompt and shows the line in two parts.
std::size_t begun_line(std::string_view bytes) {
  const std::size_t end = bytes.rfind('\n') + 1;  // npos + 1 is 0
  return end == 0 || bytes.size() - end > kHeldLine ? 0 : bytes.size() - end;
}

}  // namespace

RankCredit::RankCredit(asio::io_context& context, const Connection& connection,
                       const OutputRules& rules)
    : connection_(connection),
      rules_(rules),
      left_(rules.window),
      wake_(context, asio::steady_timer::time_point::max()) {}

void RankCredit::spend(std::size_t bytes) {
  left_ -= std::min(bytes, left_);
}

void RankCredit::give_back(std::size_t bytes) {
  // No more than the window can be in flight, whatever the launcher says.
  left_ = std::min<std::size_t>(left_ + bytes, rules_.window);
  if (left_ == rules_.window) let_down_ = false;
  // Not on each byte: waiters only continue at half the window.
  if (recovered()) wake_.cancel();
}

awaitable<void> RankCredit::recover_until(Clock::time_point when) {
  wake_.expires_at(when);
  while (!recovered() && Clock::now() < when) {
    // Both streams wait on this timer; the other one may have set an earlier time.
    if (wake_.expiry() <= Clock::now()) wake_.expires_at(when);
    boost::system::error_code woken;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

awaitable<bool> RankCredit::recover() {
  if (recovered()) co_return true;
  // A reader that timed out before would cost the rank hold_ms for each piece.
  if (let_down_ || rules_.hold_ms == 0) co_return false;
  const std::uint64_t sent = connection_.handed_over();
  // Without --reconnect has_arrived() is true at once.
  while (!recovered() && !connection_.has_arrived(sent)) {
    co_await recover_until(Clock::now() + kLookForArrival);
  }
  const bool forever = rules_.hold_ms == kHoldForever;
  co_await recover_until(forever ? Clock::time_point::max()
                                 : Clock::now() + std::chrono::milliseconds(rules_.hold_ms));
  let_down_ = !recovered();
  co_return !let_down_;
}

RankOutput::RankOutput(Connection& connection, RankCredit& credit, std::uint32_t rank,
                       Stream stream, std::unique_ptr<RankFile> file)
    : connection_(connection),
      credit_(credit),
      rank_(rank),
      stream_(stream),
      file_(std::move(file)) {}

awaitable<void> RankOutput::forward(asio::io_context& context, Fd pipe) {
  asio::posix::stream_descriptor reader(context, pipe.release());
  std::string bytes;  // begins with the line that the previous read ended in
  std::size_t begun = 0;
  ReadRoom room(kMaxOutputBytes);
  for (;;) {
    bytes.resize(begun + room.next());
    // Without OutputRules the queue's size is the limit.
    if (!credit_.bounded()) co_await connection_.wait_below(kOutputInFlight);
    boost::system::error_code error;
    const std::size_t size = co_await reader.async_read_some(
        asio::buffer(bytes) + begun, asio::redirect_error(asio::use_awaitable, error));
    if (error) break;  // the end of the pipe
    // A pipe holds no more than kMaxOutputBytes, so only smaller reads cut what was written at
    // once.
    const bool cut = size == room.next() && size < kMaxOutputBytes;
    room.filled(size);
    const std::string_view read(bytes.data(), begun + size);
    // Before checking credit: the file also keeps output that is dropped.
    keep(read.substr(begun));
    begun = cut && has_more(reader.native_handle()) ? begun_line(read) : 0;
    const std::string_view ready = read.substr(0, read.size() - begun);
    if (ready.size() < kWorthItsBuffer) {
      std::string piece(ready);
      bytes.replace(0, begun, read.substr(ready.size()));
      co_await offer(std::move(piece));
    } else {
      std::string line(read.substr(ready.size()));
      bytes.resize(ready.size());
      co_await offer(std::exchange(bytes, std::move(line)));
    }
  }
  bytes.resize(begun);
  co_await offer(std::move(bytes));
  tell_skipped();
}

void RankOutput::keep(std::string_view bytes) {
  if (!file_) return;
  // Output continues despite file errors; the user is told.
  const auto problem = file_->write(bytes, BootTime(boot_time_ms()));
  if (problem) connection_.send(Notice{*problem});
}

awaitable<void> RankOutput::offer(std::string bytes) {
  std::string_view left = bytes;
  while (!left.empty()) {
    if (skipping_) {
      left = mid_line_ ? end_line(left) : skip(left);
      continue;
    }
    // A held line may have made it longer than a frame.
    std::size_t size = std::min({credit_.left(), left.size(), kMaxOutputBytes});
    if (size == 0) {
      skipping_ = !co_await credit_.recover();
      continue;
    }
    if (size < left.size() || !credit_.recovered_after(size)) {
      // So that output which is dropped or late begins with a whole line.
      const std::size_t end = left.substr(0, size).rfind('\n');
      if (end != std::string_view::npos) {
        size = end + 1;
      } else if (size < left.size() && !credit_.recovered()) {
        skipping_ = !co_await credit_.recover();
        continue;
      }
    }
    if (left.size() == bytes.size() && size >= left.size() / 2) {
      std::string rest(left.substr(size));  // copies the shorter part
      bytes.resize(size);
      send(std::exchange(bytes, std::move(rest)));
      left = bytes;
    } else {
      send(std::string(left.substr(0, size)));
      left.remove_prefix(size);
    }
    if (!left.empty()) skipping_ = !co_await credit_.recover();
  }
}

void RankOutput::send(std::string bytes) {
  if (bytes.empty()) return;
  credit_.spend(bytes.size());
  mid_line_ = bytes.back() != '\n';
  connection_.send(Output{rank_, stream_, std::move(bytes)});
}

// Sends the rest of a line whose beginning was sent, even without credit, unless it is long.
std::string_view RankOutput::end_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const bool shown = end != std::string_view::npos && end < kSkippedTail;
  if (shown) send(std::string(bytes.substr(0, end + 1)));
  mid_line_ = false;
  return shown ? bytes.substr(end + 1) : bytes;
}

// Drops bytes. With credit again, it drops the rest of the line; output continues with the next
// line. Returns the bytes to send.
std::string_view RankOutput::skip(std::string_view bytes) {
  const std::size_t end = credit_.recovered() ? bytes.find('\n') : std::string_view::npos;
  const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
  hold_back(bytes.substr(0, size));
  if (end != std::string_view::npos) {
    skipping_ = false;
    tell_skipped();
  }
  return bytes.substr(size);
}

void RankOutput::hold_back(std::string_view bytes) {
  skipped_ += bytes.size();
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kSkippedTail));
  if (tail_.size() <= kSkippedTail) return;
  // Keep whole lines only.
  const std::size_t line = tail_.find('\n', tail_.size() - kSkippedTail - 1);
  tail_.erase(0, line == std::string::npos ? tail_.size() : line + 1);
}

void RankOutput::tell_skipped() {
  // The rest of the tail is sent after the notice, so it is not lost.
  const std::uint64_t lost = skipped_ - tail_.size();
  if (lost > 0) {
    connection_.send(Skipped{rank_, stream_, lost, file_ ? file_->path() : std::string()});
  }
  send(std::exchange(tail_, {}));
  skipped_ = 0;
}

RankInput::RankInput(asio::io_context& context, Connection& connection, std::uint32_t rank, Fd pipe)
    : connection_(connection),
      rank_(rank),
      pipe_(context),
      wake_(context, asio::steady_timer::time_point::max()) {
  // A pipe of one page has room only after everything in it has been read.
  ::fcntl(pipe.get(), F_SETPIPE_SZ, static_cast<int>(kFirstStdin));
  descriptor_ = pipe.release();
  pipe_.assign(descriptor_);
}

void RankInput::put(const Stdin& message) {
  // The launcher may not know yet that the rank has closed its input.
  if (end_ || closed_) return;
  if (!message.bytes.empty()) queue_.push_back(message.bytes);
  end_ = message.end;
  wake_.cancel();
}

awaitable<void> RankInput::run() {
  while (!closed_) {
    if (!queue_.empty()) {
      const std::string bytes = std::move(queue_.front());
      queue_.pop_front();
      const bool first = written_ == 0;
      if (!co_await write(bytes) || (first && !co_await wait_until_read())) co_return close();
      connection_.send(StdinTaken{rank_, static_cast<std::uint32_t>(bytes.size())});
    } else if (end_) {
      co_return serve_end();
    } else {
      boost::system::error_code woken;
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }
}

awaitable<bool> RankInput::write(std::string_view bytes) {
  while (!bytes.empty()) {
    boost::system::error_code error;
    const std::size_t n = co_await pipe_.async_write_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return false;
    written_ += n;
    bytes.remove_prefix(n);
  }
  co_return true;
}

awaitable<bool> RankInput::wait_until_read() {
  constexpr int kPipeBytes = 64 << 10;
  boost::system::error_code error;
  co_await pipe_.async_wait(asio::posix::descriptor_base::wait_write,
                            asio::redirect_error(asio::use_awaitable, error));
  // poll(2) also reports "writable" if the other end is closed; unread bytes then remain.
  if (error || unread() > 0) co_return false;
  // The rank reads its input: from here on the pipe may have the usual size.
  ::fcntl(descriptor_, F_SETPIPE_SZ, kPipeBytes);
  co_return true;
}

// The rank sees the end when all write ends are closed. We reopen the pipe for reading, to know
// later how much the rank has not read.
void RankInput::serve_end() {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor_);
  looks_ = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  boost::system::error_code ignored;
  pipe_.close(ignored);
}

std::uint64_t RankInput::unread() const {
  int bytes = 0;
  // FIONREAD works at either end of a pipe.
  const int fd = looks_.valid() ? looks_.get() : pipe_.is_open() ? descriptor_ : -1;
  return fd >= 0 && ::ioctl(fd, FIONREAD, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

void RankInput::close() {
  if (std::exchange(closed_, true)) return;
  // Before closing the pipe, as the kernel then forgets its content.
  connection_.send(StdinClosed{rank_, written_ - unread()});
  boost::system::error_code ignored;
  pipe_.close(ignored);
  looks_.reset();
  queue_.clear();
  wake_.cancel();
}

}  // namespace dtl
