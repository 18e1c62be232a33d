#pragma once
// SocketStream: the AgentStream of an agent at the other end of a unix socket on this machine: the
// service's, or that of a connection kept by `dtlaunch up`. Such an agent runs already and is not
// our child, so we see neither its standard error nor its exit status.

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
  // The other end belongs to `dtlaunch up`, which forwards a host's agent.
  void is_handed_on_by(ProcessHandle process) { holder_ = std::move(process); }
  // Puts bytes back: the next read() returns them.
  void unread(std::string bytes) { received_ = std::move(bytes); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::string received_;
  ProcessHandle holder_;
};

// Reads up to the end of the agent's greeting and returns everything received, `received` first.
// Empty if the stream ends, the time is over, or the agent is of another version: the caller then
// starts an agent in another way. Never throws.
awaitable<std::string> read_greeting(asio::io_context& context, ByteStream& stream,
                                     std::chrono::milliseconds patience, std::string received = {});

// An agent of this user's service on this machine, which saves starting a process; nullptr if there
// is no usable service.
awaitable<std::unique_ptr<AgentStream>> start_service_agent(asio::io_context& context);

// False if start_service_agent() would find none.
bool may_have_service_agent();

}  // namespace dtl
