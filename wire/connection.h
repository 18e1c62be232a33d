#pragma once
// Connection: messages over a ByteStream. Owns the stream; belongs to one io_context thread.
// Sending never waits: messages are queued, and heartbeats overtake all but the first message. A
// queue above kMaxQueuedBytes closes the stream. A sender of much data awaits wait_below() before
// each send. With keep_sent() the stream may be lost and replaced by another one (link_end.h):
// detach() and attach(). Messages sent in between wait; heartbeats are dropped.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/asio.h"
#include "wire/byte_stream.h"
#include "wire/frame.h"
#include "wire/link_end.h"

namespace dtl {

class Connection {
 public:
  // A link with this much unsent is stuck. A node's Start messages must fit.
  static constexpr std::size_t kMaxQueuedBytes = 16 << 20;

  // `received` holds bytes that arrived together with the greeting. The stream may be shared with
  // code that asks how it ended.
  Connection(asio::io_context& context, std::shared_ptr<ByteStream> stream, std::string received);

  // Throws Error(kUsage) when the message exceeds its limits. Does nothing after close(). Output
  // that soon follows other output may wait for a few milliseconds: for more of it, so that many
  // lines travel together, or for another message.
  void send(Message message);
  // Sends the receipt that a heartbeat would bring, if one is due: where heartbeats are not sent.
  void send_receipt();
  // The next message; nullopt at the end of the stream, and after detach(). Throws Error(kVersion)
  // on garbage, and whatever ByteStream::read throws.
  awaitable<std::optional<Message>> receive();
  // Writes what send() queued until close(); run it as a separate task beside the reader. After
  // finish() it returns once the queue is empty. Throws what ByteStream::write_pieces throws.
  awaitable<void> run_writer();
  // Returns when fewer than `bytes` wait in the queue, or after close().
  awaitable<void> wait_below(std::size_t bytes);
  std::size_t queued_bytes() const { return queued_bytes_; }
  // No more messages: lets run_writer() end after the last one.
  void finish();
  void close();
  bool closed() const { return closed_; }

  // Call it right before send(Reconnect). No receipt overtakes that: until the other end has read
  // it, it expects none.
  void keep_sent() {
    link_.keep();
    opened_ = false;
  }
  bool keeps_sent() const { return link_.keeps(); }
  // Drops the stream; the reader and the writer wait for another one.
  void detach();
  // Continues over another stream. other_has: how many of our frames the other end has received, as
  // it reports; `received`: bytes that arrived after that report; `first` is sent before everything
  // else. False if the other end lacks frames that are no longer kept; nothing has changed then.
  bool attach(std::shared_ptr<ByteStream> stream, std::string received, std::uint64_t other_has,
              std::optional<Message> first);
  bool is_attached() const { return stream_ != nullptr; }
  // Returns true when there is a stream, false after close().
  awaitable<bool> wait_attached();
  LinkEnd& link() { return link_; }

  // How many frames send() has made, without heartbeats and receipts; and whether that many are
  // known to have arrived. Without keep_sent() nobody reports arrival, so it is assumed.
  std::uint64_t handed_over() const { return handed_over_; }
  bool has_arrived(std::uint64_t messages) const {
    const std::size_t waiting = normal_.size() + unarrived_.size() + (gathered_ ? 1 : 0);
    return !link_.keeps() || handed_over_ - waiting >= messages;
  }

 private:
  std::vector<std::string> next_batch();
  void take_from(std::deque<Frame>& queue, std::vector<std::string>& batch, std::size_t& size);
  std::optional<Message> next_message();
  bool acknowledge(std::uint64_t received);
  void queue(std::deque<Frame>& queue, Message message);
  void gather(Output output);
  void end_gathering();
  bool may_wait() const;
  awaitable<void> write_batch(std::vector<std::string> batch);

  std::shared_ptr<ByteStream> stream_;  // shared with its reader and writer; null: detached
  FrameReader reader_;
  std::deque<Frame> urgent_, normal_;            // without their sequence numbers
  std::optional<Output> gathered_;               // behind normal_, for as long as it may grow
  std::size_t queued_bytes_ = 0;                 // of all these and the batch being written
  bool is_hurried_ = false;                      // something waits that is not output
  bool is_gathering_ = false;                    // the writer waits for more output
  asio::steady_timer::time_point next_write_{};  // of output alone
  LinkEnd link_;
  std::deque<Frame> again_;  // to be sent again, unchanged
  std::uint64_t handed_over_ = 0;
  std::deque<std::uint64_t> unarrived_;  // the numbers of kept frames that came from normal_
  asio::steady_timer wake_, drained_;    // never expire; cancelled to wake their waiters
  bool closed_ = false, finishing_ = false;
  bool opened_ = false;  // the first message has been sent, or the first one that is kept
};

}  // namespace dtl
