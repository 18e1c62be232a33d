#pragma once
// The AgentStream of a child process: a local dtagent, or a scheduler's carrier (blaunch, qrsh)
// that forwards another host's agent.

#include <memory>

#include "launcher/streams/agent_stream.h"
#include "launcher/streams/child.h"

namespace dtl {

// Takes ownership of the child. has_our_input: the child has our standard input.
std::unique_ptr<AgentStream> make_local_stream(asio::io_context& context, Child child,
                                               bool has_our_input = false);

}  // namespace dtl
