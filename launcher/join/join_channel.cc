#include "launcher/join/join_channel.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace dtl {
namespace {

constexpr std::size_t kMostQueued = 256 << 10;  // of an agent's bytes; then it has to wait

awaitable<void> wait_for(asio::steady_timer& timer) {
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

}  // namespace

JoinChannel::JoinChannel(asio::io_context& context, std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)),
      wake_(context, asio::steady_timer::time_point::max()),
      drained_(context, asio::steady_timer::time_point::max()) {}

void JoinChannel::send(JoinFrame frame) {
  if (closed_) return;
  queue_.push_back(frame_bytes(frame));
  queued_bytes_ += queue_.back().size();
  wake_.cancel();
}

awaitable<std::optional<JoinFrame>> JoinChannel::receive() {
  for (;;) {
    if (auto frame = reader_.next()) co_return frame;
    std::string bytes;
    try {
      bytes = co_await stream_->read();
    } catch (const Error&) {
      // The carrier broke, or somebody on the way changed what it carries: the end all the same.
    }
    if (bytes.empty()) co_return std::nullopt;
    reader_.feed(bytes);
  }
}

awaitable<void> JoinChannel::run_writer() {
  while (!closed_) {
    if (queue_.empty()) {
      if (finishing_) break;
      co_await wait_for(wake_);
      continue;
    }
    std::vector<std::string> batch(std::make_move_iterator(queue_.begin()),
                                   std::make_move_iterator(queue_.end()));
    queue_.clear();
    std::size_t size = 0;
    for (const std::string& piece : batch) size += piece.size();
    try {
      co_await stream_->write_pieces(std::move(batch));
    } catch (const Error&) {
      close();  // who reads learns of it
    }
    queued_bytes_ -= size;
    drained_.cancel();
  }
}

awaitable<void> JoinChannel::wait_below(std::size_t bytes) {
  while (!closed_ && queued_bytes_ >= bytes) co_await wait_for(drained_);
}

void JoinChannel::finish() {
  finishing_ = true;
  wake_.cancel();
}

void JoinChannel::close() {
  if (std::exchange(closed_, true)) return;
  stream_->close();
  wake_.cancel();
  drained_.cancel();
}

awaitable<void> send_bytes(std::shared_ptr<ByteStream> from, std::shared_ptr<JoinChannel> to) {
  try {
    while (!to->closed()) {
      std::string bytes = co_await from->read();
      if (bytes.empty()) break;
      co_await to->wait_below(kMostQueued);
      to->send({JoinFrame::Kind::kBytes, std::move(bytes)});
    }
  } catch (const Error&) {
    // The end of the agent's stream, in another way.
  }
}

}  // namespace dtl
