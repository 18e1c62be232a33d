#pragma once
// The way back to an agent that runs and whose connection is lost: another login, and dtagent
// --rejoin there, which joins it with the agent's socket. Every failure is an Error that names the
// host.

#include <chrono>
#include <memory>
#include <string>

#include "launcher/agents/agent_start.h"
#include "wire/messages.h"

namespace dtl {

struct Rejoined {
  Resumed answer;
  std::shared_ptr<AgentStream> stream;  // shared with the connection that goes on over it
  std::string received;                 // what came after the answer
};

// All of it until `deadline`.
awaitable<Rejoined> rejoin_agent(asio::io_context& context, Host host, StartOptions options,
                                 std::string link, Resume offer,
                                 std::chrono::steady_clock::time_point deadline);

}  // namespace dtl
