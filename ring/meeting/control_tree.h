#pragma once
// The tree of control lines: each rank has one to its parent, and rank 0 is the root. So no rank
// has more than a few, and news reach all ranks in a few steps. A world of at most kFanOut + 1
// ranks is a star.

#include <cstdint>

namespace dtl::ring {

constexpr std::uint32_t kFanOut = 16;

// Of a rank other than 0. fan_out: the most children of a rank.
constexpr int parent_of(int rank, std::uint32_t fan_out) {
  return static_cast<int>((static_cast<std::uint32_t>(rank) - 1) / fan_out);
}

}  // namespace dtl::ring
