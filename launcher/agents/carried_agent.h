#pragma once
// An agent that a command of the engine brings to a host of its allocation (blaunch HOST ...,
// qrsh -inherit HOST ...): a child of ours whose standard input and output lead there.

#include <memory>
#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"

namespace dtl {

// options.carrier with the host, dtagent's path and these arguments behind it. Returns at once.
// Throws Error, also for a host with a user or a port, which such a command does not take.
std::unique_ptr<AgentStream> carry_agent(asio::io_context& context, const Host& host,
                                         const StartOptions& options,
                                         const std::vector<std::string>& arguments);

// The same with --serve. Returns when the agent's marker line has arrived, as start_ssh_agent does,
// within options.deadline; a carrier that does not get there is ended. Errors name the host.
awaitable<std::unique_ptr<AgentStream>> start_carried_agent(asio::io_context& context, Host host,
                                                            StartOptions options);

}  // namespace dtl
