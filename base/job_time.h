#pragma once
// The launcher's clock. The state machine and the plan get times as values and never read a clock.
// The agent's clock has another start, and therefore another type.

#include <chrono>

namespace dtl {

using JobTime = std::chrono::milliseconds;  // since the job began, monotonic

}  // namespace dtl
