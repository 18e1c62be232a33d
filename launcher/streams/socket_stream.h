#pragma once
// SocketStream: the AgentStream of an agent at the other end of a unix socket of this machine: the
// service's, or one that a connection kept by `dtlaunch up` leads to. Such an agent runs already
// and is not our child: its standard error and exit status are not ours to see.

#include <memory>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/machine/process_handle.h"
#include "launcher/streams/agent_stream.h"

namespace dtl {

class SocketStream final : public AgentStream {
 public:
  SocketStream(asio::io_context& context, Fd socket);
  awaitable<std::string> read() override;
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    return stream_->write_pieces(std::move(pieces));
  }
  void close() override { stream_->close(); }
  std::string standard_error() const override { return {}; }
  std::string ending() const override;
  bool is_here() const override { return !holder_.valid(); }
  // The other end belongs to `dtlaunch up`, which hands on what a host's agent says.
  void is_handed_on_by(ProcessHandle process) { holder_ = std::move(process); }
  // Gives bytes back: the next read() returns them.
  void unread(std::string bytes) { received_ = std::move(bytes); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::string received_;
  ProcessHandle holder_;
};

// Reads up to and including the agent's greeting and gives back all that came, after what was
// received before. Empty when the stream ends, the time is over, or the agent is of another
// version: the caller then starts an agent in another way. Never throws.
awaitable<std::string> read_greeting(asio::io_context& context, ByteStream& stream,
                                     std::chrono::milliseconds patience, std::string received = {});

// An agent of this user's service on this machine, which saves the start of a process; nullptr when
// there is no service that can be used.
awaitable<std::unique_ptr<AgentStream>> start_service_agent(asio::io_context& context);

}  // namespace dtl
