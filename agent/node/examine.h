#pragma once
// Answers what `dtlaunch doctor` asks of a node beyond Hello: kernel, limits, memory, clock, CPU
// features, Python. Facts have names, so new ones need no new message; receivers ignore unknown
// names. Judges nothing: dtlaunch-doctor(1) describes the checks.

#include <vector>

#include "wire/messages.h"

namespace dtl {

// The time of day, for comparing clocks. Does not block.
std::vector<Fact> examine_clock();

// Everything else. Reads /proc and /sys, and asks a Python for its packages; may block for seconds,
// so run it on a separate thread. Parameters: "python" (default python3) and "PATH", where it is
// looked for. Never throws; omits unknown facts.
std::vector<Fact> examine_node(const std::vector<Fact>& parameters);

}  // namespace dtl
