#pragma once
// The launcher's side of `dtlaunch up`: an agent over a connection that another process keeps open.
// The holder is launcher/keep. No failure here is an error, because the launcher can always start
// an agent of its own.

#include <memory>
#include <string>

#include "launcher/agents/agent_start.h"
#include "launcher/agents/kept_connection_request.h"

namespace dtl {

// Asks the holder of options.kept_job (empty: that of connections over ssh). Returns nullptr when
// it does not answer at once, has no agent for this host or is of another version.
awaitable<std::unique_ptr<AgentStream>> start_kept_agent(asio::io_context& context, Host host,
                                                         StartOptions options);

// Asks the holder of that job of a scheduler, or with an empty `job` that of connections over ssh.
// Returns all that it says, "ok\n" first; empty when there is no holder. Blocking.
std::string ask_holder(const KeepRequest& request, const std::string& job);

}  // namespace dtl
