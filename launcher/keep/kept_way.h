#pragma once
// KeptWay: how a kept host's agents are started and reached: over an ssh connection that stays
// open, or in a scheduler's step. KeptHost does not know which. Belongs to the holder's thread.

#include <cstddef>
#include <memory>
#include <string>

#include "launcher/agents/agent_start.h"
#include "launcher/streams/agent_stream.h"
#include "plan/request/host.h"
#include "wire/asio.h"

namespace dtl {

class KeptWay {
 public:
  virtual ~KeptWay() = default;
  virtual awaitable<void> connect() = 0;  // throws Error, which may name the host
  // Cheap: called for each launch.
  virtual bool connected() const = 0;
  virtual void drop() = 0;  // releases what is left of a lost connection
  // Starts dtagent --idle and does not read its greeting. Throws Error.
  virtual awaitable<std::unique_ptr<AgentStream>> start_agent() = 0;
  virtual std::size_t most_agents() const = 0;  // that may run there at a time
  virtual std::string hint() const = 0;         // a command to try if an agent does not greet
};

std::unique_ptr<KeptWay> keep_over_ssh(asio::io_context& context, Host host, StartOptions options);
// options.step must be set.
std::unique_ptr<KeptWay> keep_in_step(asio::io_context& context, Host host, StartOptions options);

}  // namespace dtl
