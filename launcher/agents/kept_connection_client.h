#pragma once
// The launcher's side of `dtlaunch up`: an agent over a connection that another process keeps open.
// The holder is in launcher/keep. Failures here are not errors, because the launcher can always
// start its own agent.

#include <memory>
#include <string>

#include "launcher/agents/agent_start.h"
#include "launcher/agents/kept_connection_request.h"

namespace dtl {

// Asks the holder of options.kept_job (empty: the holder of ssh connections). Returns nullptr if it
// does not answer at once, has no agent for this host or is of another version.
awaitable<std::unique_ptr<AgentStream>> start_kept_agent(asio::io_context& context, Host host,
                                                         StartOptions options);

// Asks the holder of that scheduler's job (empty: of ssh connections). Returns its whole answer,
// which begins with "ok" and a newline; empty if there is no holder. Blocking.
std::string ask_holder(const KeepRequest& request, const std::string& job);

}  // namespace dtl
