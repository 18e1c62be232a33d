#pragma once
// The launcher's side of `dtlaunch up`: an agent over a connection that is kept open.

#include <memory>
#include <string>

#include "launcher/agents/agent_start.h"
#include "launcher/agents/kept_connection_request.h"

namespace dtl {

// From options.kept_job's holder. nullptr when it does not answer at once, has no agent for this
// host or is of another version: then the launcher starts its own.
awaitable<std::unique_ptr<AgentStream>> start_kept_agent(asio::io_context& context, Host host,
                                                         StartOptions options);

// Asks the holder of that job of an engine's, or that of connections over ssh, and returns all that
// it says, "ok\n" first; empty when there is none. Blocking.
std::string ask_holder(const KeepRequest& request, const std::string& job);

}  // namespace dtl
