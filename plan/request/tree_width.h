#pragma once
// How wide a tree of agents is (launcher/tree): how many agents dtlaunch talks to directly, and how
// many each agent connects to dtlaunch.

#include <cstddef>

namespace dtl {

constexpr std::size_t kFlatHosts = 1024;  // more than these make a tree without --tree
constexpr int kTreeWidth = 32;            // the default: three levels for 32,768 hosts
constexpr int kLeastTreeWidth = 2, kMostTreeWidth = 256;

}  // namespace dtl
