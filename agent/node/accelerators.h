#pragma once
// Finds the GPUs and other accelerators of this node that PyTorch could use.

#include <string>
#include <vector>

namespace dtl {

// The device files of their drivers, sorted: "/dev/kfd", "/dev/nvidia0". `root`: where /dev and
// /sys are.
std::vector<std::string> list_accelerators(const std::string& root = "");

}  // namespace dtl
