#pragma once
// RoomStream: the session's end of the stream of an agent that a JoinRoom has started. A socket
// pair connects it with the room's thread, so the session treats it like any other stream.

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "launcher/streams/agent_stream.h"
#include "wire/fd_stream.h"

namespace dtl {

// How an agent has ended. The room's thread sets it once, before the stream ends; the session's
// thread reads it.
class AgentEnd {
 public:
  void set(std::string how) {
    const std::lock_guard lock(mutex_);
    if (how_.empty()) how_ = std::move(how);
  }
  std::string get() const {
    const std::lock_guard lock(mutex_);
    return how_;
  }

 private:
  mutable std::mutex mutex_;
  std::string how_;
};

class RoomStream final : public AgentStream {
 public:
  RoomStream(asio::io_context& context, Fd socket, std::shared_ptr<AgentEnd> end)
      : stream_(make_fd_stream(context, std::move(socket))), end_(std::move(end)) {}

  awaitable<std::string> read() override { return stream_->read(); }
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    return stream_->write_pieces(std::move(pieces));
  }
  void close() override { stream_->close(); }
  // Empty: the agent shares standard error with its node's dtlaunch.
  std::string standard_error() const override { return {}; }
  std::string ending() const override { return end_->get(); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::shared_ptr<AgentEnd> end_;  // shared with the room
};

}  // namespace dtl
