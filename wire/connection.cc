#include "wire/connection.h"

#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

// One write takes at most about this much, so that a heartbeat never waits behind more.
constexpr std::size_t kBatchBytes = 64 << 10;

awaitable<void> sleep_until_woken(asio::steady_timer& timer) {
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

}  // namespace

Connection::Connection(asio::io_context& context, std::unique_ptr<ByteStream> stream,
                       std::string received)
    : stream_(std::move(stream)),
      wake_(context, asio::steady_timer::time_point::max()),
      drained_(context, asio::steady_timer::time_point::max()) {
  reader_.feed(std::move(received));
}

void Connection::send(Message message) {
  if (closed_) return;
  const bool urgent = std::holds_alternative<Heartbeat>(message);
  Frame frame = encode_frame(std::move(message), 0);
  queued_bytes_ += frame.size();
  (urgent ? urgent_ : normal_).push_back(std::move(frame));
  if (queued_bytes_ > kMaxQueuedBytes) {
    close();
  } else {
    wake_.cancel();
  }
}

awaitable<std::optional<Message>> Connection::receive() {
  for (;;) {
    if (std::optional<Message> message = reader_.next()) co_return message;
    if (closed_) co_return std::nullopt;
    std::string bytes = co_await stream_->read();
    if (bytes.empty()) co_return std::nullopt;
    reader_.feed(std::move(bytes));
  }
}

std::vector<std::string> Connection::next_batch() {
  std::vector<std::string> batch;
  std::size_t size = 0;
  for (std::deque<Frame>* queue : {&urgent_, &normal_}) {
    while (!queue->empty() && size < kBatchBytes) {
      Frame& frame = queue->front();
      set_frame_sequence(frame, sequence_++);
      size += frame.size();
      batch.push_back(std::move(frame.head));
      if (!frame.tail.empty()) batch.push_back(std::move(frame.tail));
      queue->pop_front();
    }
  }
  return batch;
}

awaitable<void> Connection::run_writer() {
  while (!closed_) {
    std::vector<std::string> batch = next_batch();
    if (batch.empty()) {
      if (finishing_) co_return;
      co_await sleep_until_woken(wake_);
      continue;
    }
    std::size_t size = 0;
    for (const std::string& piece : batch) size += piece.size();
    try {
      co_await stream_->write_pieces(std::move(batch));
    } catch (const Error&) {
      if (closed_) co_return;  // close() ended the write
      throw;
    }
    queued_bytes_ -= size;
    drained_.cancel();
  }
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
  stream_->close();
  wake_.cancel();
  drained_.cancel();
}

}  // namespace dtl
