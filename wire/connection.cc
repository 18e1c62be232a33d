// Queues and the lifetime of streams. frame.h encodes frames; link_end.h knows which have arrived.
// During any co_await the stream may be replaced or detached, so both loops keep a pointer to the
// stream that they use and compare.
#include "wire/connection.h"

#include <exception>
#include <utility>

#include "base/error.h"
#include "base/limits.h"

namespace dtl {
namespace {

// One write takes at most about this much, so that a heartbeat never waits behind more.
constexpr std::size_t kBatchBytes = 64 << 10;

// A rank that prints a thousand lines a second would cost both ends a packet for each. Output that
// comes within this time after a write waits for the end of it; a person does not notice.
constexpr auto kGatherTime = std::chrono::milliseconds(10);
constexpr std::size_t kGatherBytes = 16 << 10;  // more is worth a frame of its own

// Timers replace condition variables, which coroutines cannot wait for: they never expire, and
// cancel() wakes all waiters. A wake-up that comes before the wait is lost, so callers check their
// condition first, in the same step.
awaitable<void> sleep_until_woken(asio::steady_timer& timer) {
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

}  // namespace

Connection::Connection(asio::io_context& context, std::shared_ptr<ByteStream> stream,
                       std::string received)
    : stream_(std::move(stream)),
      wake_(context, asio::steady_timer::time_point::max()),
      drained_(context, asio::steady_timer::time_point::max()) {
  reader_.feed(std::move(received));
}

void Connection::queue(std::deque<Frame>& queue, Message message) {
  Frame frame = encode_frame(std::move(message), 0);
  queued_bytes_ += frame.size();
  queue.push_back(std::move(frame));
}

void Connection::send(Message message) {
  if (closed_) return;
  const bool urgent = std::holds_alternative<Heartbeat>(message);
  if (urgent && !stream_) return;  // a late heartbeat is useless
  if (urgent) {
    if (const auto receipt = link_.receipt(true)) queue(urgent_, *receipt);
  }
  if (auto* output = std::get_if<Output>(&message)) {
    gather(std::move(*output));
  } else {
    if (!urgent) {
      end_gathering();
      ++handed_over_;
      is_hurried_ = true;
    }
    queue(urgent ? urgent_ : normal_, std::move(message));
  }
  // The other end reads nothing; more would fill the memory.
  if (queued_bytes_ > kMaxQueuedBytes) {
    close();
  } else if (!is_gathering_ || !may_wait()) {
    wake_.cancel();
  }
}

void Connection::send_receipt() {
  if (closed_ || !stream_) return;
  const auto receipt = link_.receipt(true);
  if (!receipt) return;
  queue(urgent_, *receipt);
  wake_.cancel();
}

void Connection::gather(Output output) {
  const std::size_t size = output.bytes.size();
  const bool continues =
      gathered_ && gathered_->rank == output.rank && gathered_->stream == output.stream;
  if (continues && gathered_->bytes.size() + size <= kGatherBytes) {
    gathered_->bytes.reserve(kGatherBytes);  // growing step by step would copy all of it again
    gathered_->bytes += output.bytes;
    queued_bytes_ += size;
    return;
  }
  end_gathering();
  ++handed_over_;
  if (size > kGatherBytes) return queue(normal_, std::move(output));
  queued_bytes_ += size;
  gathered_ = std::move(output);
}

void Connection::end_gathering() {
  if (!gathered_) return;
  queued_bytes_ -= gathered_->bytes.size();
  queue(normal_, std::move(*gathered_));
  gathered_.reset();
}

// Only a little output waits, and some was written a moment ago.
bool Connection::may_wait() const {
  return !is_hurried_ && !finishing_ && !closed_ && stream_ && again_.empty() && urgent_.empty() &&
         (gathered_ || !normal_.empty()) && queued_bytes_ < kBatchBytes &&
         asio::steady_timer::clock_type::now() < next_write_;
}

awaitable<std::optional<Message>> Connection::receive() {
  for (;;) {
    if (std::optional<Message> message = next_message()) co_return message;
    if (closed_ || !stream_) co_return std::nullopt;
    const std::shared_ptr<ByteStream> stream = stream_;
    std::string bytes;
    std::exception_ptr failure;
    try {
      bytes = co_await stream->read();
    } catch (const Error&) {
      failure = std::current_exception();
    }
    if (stream != stream_) continue;  // the other end sends its frames again
    if (failure) std::rethrow_exception(failure);
    if (bytes.empty()) co_return std::nullopt;
    reader_.feed(std::move(bytes));
  }
}

// Messages about the link itself are not passed on.
std::optional<Message> Connection::next_message() {
  for (;;) {
    const std::uint64_t before = reader_.bytes_taken();
    std::optional<Message> message = reader_.next();
    if (!message) return std::nullopt;
    link_.took(reader_.bytes_taken() - before);
    if (const auto receipt = link_.receipt(false)) {
      queue(urgent_, *receipt);
      wake_.cancel();
    }
    const auto* receipt = std::get_if<Received>(&*message);
    if (receipt == nullptr) return message;
    if (!link_.keeps() || !acknowledge(receipt->frames)) {
      throw Error(Exit::kVersion, "malformed Received message",
                  "frames is more than have been sent");
    }
    wake_.cancel();
  }
}

bool Connection::acknowledge(std::uint64_t received) {
  // `received` is a count from 0, so frames with smaller numbers have arrived.
  while (!unarrived_.empty() && unarrived_.front() < received) unarrived_.pop_front();
  return link_.acknowledge(received);
}

void Connection::take_from(std::deque<Frame>& queue, std::vector<std::string>& batch,
                           std::size_t& size) {
  // Frames in again_ keep their original numbers.
  const bool numbered = &queue == &again_, urgent = &queue == &urgent_;
  while (!queue.empty() && size < kBatchBytes) {
    // Waits for the other end's receipt. Heartbeats still go out, or it would take us for dead.
    if (!numbered && !urgent && link_.is_full()) return;
    Frame& frame = queue.front();
    // The number that the frame gets on the next line.
    if (!numbered && !urgent && link_.keeps()) unarrived_.push_back(link_.sent());
    if (!numbered) link_.number(frame);
    size += frame.size();
    batch.push_back(std::move(frame.head));
    if (!frame.tail.empty()) batch.push_back(std::move(frame.tail));
    queue.pop_front();
  }
}

std::vector<std::string> Connection::next_batch() {
  std::vector<std::string> batch;
  std::size_t size = 0;
  end_gathering();
  take_from(again_, batch, size);
  if (again_.empty()) {                  // must come first
    if (!opened_ && !normal_.empty()) {  // the other end expects a greeting as the first frame
      // As if the batch had room for a byte: one frame fits, whatever its size.
      std::size_t room_for_one = kBatchBytes - 1;
      take_from(normal_, batch, room_for_one);
      opened_ = true;
    }
    take_from(urgent_, batch, size);
    take_from(normal_, batch, size);
  }
  is_hurried_ = is_hurried_ && !normal_.empty();
  return batch;
}

awaitable<void> Connection::run_writer() {
  while (!closed_) {
    if (may_wait()) {
      is_gathering_ = true;
      wake_.expires_at(next_write_);
      co_await sleep_until_woken(wake_);
      wake_.expires_at(asio::steady_timer::time_point::max());
      is_gathering_ = false;
      continue;
    }
    std::vector<std::string> batch;
    if (stream_) batch = next_batch();
    if (!batch.empty()) {
      next_write_ = asio::steady_timer::clock_type::now() + kGatherTime;
      co_await write_batch(std::move(batch));
    } else if (finishing_ && (normal_.empty() || !stream_)) {
      co_return;
    } else {
      co_await sleep_until_woken(wake_);
    }
  }
}

awaitable<void> Connection::write_batch(std::vector<std::string> batch) {
  std::size_t size = 0;
  for (const std::string& piece : batch) size += piece.size();
  const std::shared_ptr<ByteStream> stream = stream_;
  bool failed = false;
  try {
    co_await stream->write_pieces(std::move(batch));
  } catch (const Error&) {
    if (closed_) co_return;  // close() ended the write
    if (!link_.keeps()) throw;
    failed = true;
  }
  queued_bytes_ -= size;
  drained_.cancel();
  // The reader of the stream sees the failure too and detaches it; link_ keeps all the frames.
  while (failed && stream == stream_ && !closed_) co_await sleep_until_woken(wake_);
}

awaitable<void> Connection::wait_below(std::size_t bytes) {
  while (!closed_ && queued_bytes_ >= bytes) co_await sleep_until_woken(drained_);
}

void Connection::finish() {
  finishing_ = true;
  wake_.cancel();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  if (stream_) stream_->close();
  wake_.cancel();
  drained_.cancel();
}

void Connection::detach() {
  if (closed_ || !stream_) return;
  stream_->close();
  stream_.reset();
  // link_ keeps the frames of again_ and sends them again; old heartbeats are useless.
  for (std::deque<Frame>* queue : {&again_, &urgent_}) {
    for (const Frame& frame : *queue) queued_bytes_ -= frame.size();
    queue->clear();
  }
  // Drops half a frame of the old stream: the other end sends it again as a whole.
  reader_ = FrameReader(static_cast<std::uint32_t>(link_.received()));
  wake_.cancel();
}

bool Connection::attach(std::shared_ptr<ByteStream> stream, std::string received,
                        std::uint64_t other_has, std::optional<Message> first) {
  std::optional<std::vector<Frame>> lacking = link_.resume(other_has);
  if (closed_ || !lacking) return false;
  acknowledge(other_has);
  detach();
  // Resume or Resumed; these have no sequence number of the link.
  if (first) again_.push_back(encode_frame(std::move(*first), 0));
  for (Frame& frame : *lacking) again_.push_back(std::move(frame));
  for (const Frame& frame : again_) queued_bytes_ += frame.size();
  stream_ = std::move(stream);
  reader_.feed(std::move(received));
  wake_.cancel();
  return true;
}

awaitable<bool> Connection::wait_attached() {
  while (!closed_ && !stream_) co_await sleep_until_woken(wake_);
  co_return !closed_;
}

}  // namespace dtl
