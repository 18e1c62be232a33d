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
  reader_.feed(received);
}

void Connection::send(const Message& message) {
  if (closed_) return;
  std::string frame = encode_frame(message, 0);
  queued_bytes_ += frame.size();
  const bool urgent = std::holds_alternative<Heartbeat>(message);
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
    const std::string bytes = co_await stream_->read();
    if (bytes.empty()) co_return std::nullopt;
    reader_.feed(bytes);
  }
}

std::string Connection::next_batch() {
  std::string batch;
  for (std::deque<std::string>* queue : {&urgent_, &normal_}) {
    while (!queue->empty() && batch.size() < kBatchBytes) {
      set_frame_sequence(queue->front(), sequence_++);
      batch += queue->front();
      queue->pop_front();
    }
  }
  return batch;
}

awaitable<void> Connection::run_writer() {
  while (!closed_) {
    std::string batch = next_batch();
    if (batch.empty()) {
      if (finishing_) co_return;
      co_await sleep_until_woken(wake_);
      continue;
    }
    const std::size_t size = batch.size();
    try {
      co_await stream_->write(std::move(batch));
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
