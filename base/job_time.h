#pragma once
// The launcher's clock. The state machine and the plan take times of it as values and never read a
// clock themselves. The agent has another clock with another beginning, and another type for it.

#include <chrono>

namespace dtl {

using JobTime = std::chrono::milliseconds;  // since the job began, monotonic

}  // namespace dtl
