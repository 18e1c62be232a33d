#pragma once
// An agent that a scheduler's command starts on a host of its allocation (blaunch HOST ..., qrsh
// -inherit HOST ...). The command is a child of dtlaunch; its standard input and output lead to the
// agent. Used where ssh is not allowed or would escape the scheduler's accounting.

#include <memory>
#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"

namespace dtl {

// Runs options.carrier with the host, dtagent's path and these arguments. Returns at once, before
// anything is known about the host. Throws Error, also for a host with a user or a port, which
// carriers do not support.
std::unique_ptr<AgentStream> carry_agent(asio::io_context& context, const Host& host,
                                         const StartOptions& options,
                                         const std::vector<std::string>& arguments);

// The same with --serve. Returns when the agent's marker line has arrived, as start_ssh_agent does.
// Ends the carrier after options.deadline. Errors name the host.
awaitable<std::unique_ptr<AgentStream>> start_carried_agent(asio::io_context& context, Host host,
                                                            StartOptions options);

}  // namespace dtl
