// The channel itself must detect silence: the kernel of a stopped process still acknowledges TCP
// segments, so neither keepalive nor a write fails.
#include "launcher/join/join_channel.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/limits.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostQueued = 256 << 10;  // of an agent's bytes; then the agent must wait

awaitable<void> wait_for(asio::steady_timer& timer) {
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

}  // namespace

JoinChannel::JoinChannel(asio::io_context& context, std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)),
      wake_(context, asio::steady_timer::time_point::max()),
      drained_(context, asio::steady_timer::time_point::max()),
      beat_(context),
      patience_(kLease) {}

void JoinChannel::send(JoinFrame frame) {
  if (closed_) return;
  queue_.push_back(frame_bytes(frame));
  queued_bytes_ += queue_.back().size();
  wake_.cancel();
}

awaitable<std::optional<JoinFrame>> JoinChannel::receive() {
  for (;;) {
    while (auto frame = reader_.next()) {
      if (frame->kind != JoinFrame::Kind::kHere) co_return frame;
      const auto asked = parse_patience(frame->text);
      if (!asked) throw Error(Exit::kVersion, "garbage instead of the protocol", "a wrong time");
      patience_ = *asked;
    }
    std::string bytes;
    // Before the read: time that the reader spent on a frame is not silence of the other side.
    heard_ = Clock::now();
    reading_ = true;
    try {
      bytes = co_await stream_->read();
    } catch (const Error&) {
      // The carrier broke, or someone on the way changed its bytes: either ends the stream.
    }
    reading_ = false;
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
      close();  // wakes the reader
    }
    // Subtracted after the write, because the frame uses memory until then.
    queued_bytes_ -= size;
    drained_.cancel();
  }
}

awaitable<void> JoinChannel::wait_below(std::size_t bytes) {
  while (!closed_ && queued_bytes_ >= bytes) co_await wait_for(drained_);
}

awaitable<void> JoinChannel::run_heartbeats(std::function<bool()> excused) {
  for (Clock::time_point last = Clock::now(); !closed_;) {
    // Queued frames are a sign of life themselves; a kHere would only follow them.
    if (queue_.empty() && !finishing_) ask_for_patience(kLease);
    beat_.expires_after(kHeartbeat);
    co_await wait_for(beat_);
    const Clock::time_point now = Clock::now();
    // A late beat means that this process did not run. Frames of the other side may wait in the
    // kernel.
    if (now - std::exchange(last, now) > kSuspect) heard_ = now;
    if (closed_ || !reading_ || now - heard_ < patience_ || (excused && excused())) continue;
    fell_silent_ = true;
    close();
  }
}

void JoinChannel::ask_for_patience(std::chrono::milliseconds patience) {
  send({JoinFrame::Kind::kHere, std::to_string(patience.count())});
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
  beat_.cancel();
}

awaitable<void> send_bytes(std::shared_ptr<ByteStream> from, std::shared_ptr<JoinChannel> to) {
  try {
    while (!to->closed()) {
      std::string bytes = co_await from->read();
      if (bytes.empty()) break;
      // A slow link slows the agent down, and memory stays bounded.
      co_await to->wait_below(kMostQueued);
      to->send({JoinFrame::Kind::kBytes, std::move(bytes)});
    }
  } catch (const Error&) {
    // A failed read ends the agent's stream too.
  }
}

}  // namespace dtl
