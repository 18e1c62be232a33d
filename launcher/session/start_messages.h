#pragma once
// The messages that start a node's ranks: its part of the plan. Variables that its ranks share are
// sent once, since with many ranks they are most of the bytes. Pure.

#include <functional>
#include <string>
#include <vector>

#include "plan/job_plan.h"
#include "wire/messages.h"

namespace dtl {

// In the order in which they must be sent: a Start refers to the environments before it. Throws
// Error(kUsage) if a rank's arguments and environment are too long.
std::vector<Message> start_messages(const NodePlan& node, const std::string& secret,
                                    const std::function<bool(int rank)>& wants_stdin);

}  // namespace dtl
