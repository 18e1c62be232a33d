#pragma once
// The AgentStream of a program that is a child of this process: a local dtagent, or a scheduler's
// carrier (blaunch, qrsh) that hands another host's agent on.

#include <memory>

#include "launcher/streams/agent_stream.h"
#include "launcher/streams/child.h"

namespace dtl {

// Takes the child over. has_our_input: the child was given our standard input.
std::unique_ptr<AgentStream> make_local_stream(asio::io_context& context, Child child,
                                               bool has_our_input = false);

}  // namespace dtl
