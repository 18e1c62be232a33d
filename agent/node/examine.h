#pragma once
// What `dtlaunch doctor` asks of a node beyond Hello: kernel, limits, memory, clock, CPU features,
// Python. Facts by name, so that more can be told without another message; a side that does not
// know a name ignores it. dtlaunch-doctor(1) lists what is made of them; nothing is judged here.

#include <vector>

#include "wire/messages.h"

namespace dtl {

// The time of day, for a comparison of clocks. Does not block.
std::vector<Fact> examine_clock();

// Everything else. Reads /proc and /sys, and asks a Python for its packages; so it may block for
// some seconds and belongs on a thread of its own. Parameters: "python" (default python3) and
// "PATH", where it is looked for. Never throws; what cannot be told is left out.
std::vector<Fact> examine_node(const std::vector<Fact>& parameters);

}  // namespace dtl
