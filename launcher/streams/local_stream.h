#pragma once
// The AgentStream of a dtagent that is a child of this process.

#include <memory>

#include "launcher/streams/agent_stream.h"
#include "launcher/streams/child.h"

namespace dtl {

// has_our_input: the child was given it.
std::unique_ptr<AgentStream> make_local_stream(asio::io_context& context, Child child,
                                               bool has_our_input = false);

}  // namespace dtl
