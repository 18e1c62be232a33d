#pragma once
// The launcher's clock.

#include <chrono>

namespace dtl {

using JobTime = std::chrono::milliseconds;  // since the job began, monotonic

}  // namespace dtl
