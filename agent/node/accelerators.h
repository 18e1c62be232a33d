#pragma once
// Finds the GPUs and other accelerators of this node that PyTorch could use, by their device files
// alone: a static dtagent has no vendor's library, and asking a Python would take seconds. If no
// node has one, ranks are told to use CPUs (ACCELERATE_USE_CPU).

#include <string>
#include <vector>

namespace dtl {

// The device files of their drivers, sorted: "/dev/kfd", "/dev/nvidia0". `root`: where /dev and
// /sys are.
std::vector<std::string> list_accelerators(const std::string& root = "");

}  // namespace dtl
