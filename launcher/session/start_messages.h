#pragma once
// What a node is told to start its ranks: their plan as messages. Pure.

#include <functional>
#include <string>
#include <vector>

#include "plan/job_plan.h"
#include "wire/messages.h"

namespace dtl {

// In order. Throws Error(kUsage) when a rank's arguments and environment are too long.
std::vector<Message> start_messages(const NodePlan& node, const std::string& secret,
                                    const std::function<bool(int rank)>& wants_stdin);

}  // namespace dtl
