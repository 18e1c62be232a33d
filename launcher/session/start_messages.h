#pragma once
// What a node is told to start its ranks: its part of the plan as messages. What the environments
// of its ranks have in common is said once: with many ranks it is most of the bytes. Pure.

#include <functional>
#include <string>
#include <vector>

#include "plan/job_plan.h"
#include "wire/messages.h"

namespace dtl {

// In the order in which they must be sent: a Start refers to the environments before it. Throws
// Error(kUsage) when a rank's arguments and environment are too long.
std::vector<Message> start_messages(const NodePlan& node, const std::string& secret,
                                    const std::function<bool(int rank)>& wants_stdin);

}  // namespace dtl
