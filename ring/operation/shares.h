#pragma once
// Shares: how a buffer is divided among the members of a group. Plain data, and functions on it.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/operation/flow.h"

namespace dtl::ring {

// A member's part of a buffer: spans in the order in which they move, and when each may be read.
struct Span {
  std::uint64_t at = 0, bytes = 0;
  Gate ready = {};
};
using Share = std::vector<Span>;

// Members [from, to), and so a part of the buffer without gaps. For shares of one span each.
struct Range {
  std::size_t from = 0, to = 0;
};

// A share of one span for each of `parts` members: [base, base + bytes) in whole elements, cut at
// cache lines if possible. The last ones may be empty.
std::vector<Share> divide_evenly(std::uint64_t base, std::uint64_t bytes, std::size_t element,
                                 std::size_t parts);

// All shares of the range as one span; its `ready` is open.
Span whole_of(const std::vector<Share>& shares, Range range);
// When the shares of the range become ready, in their order.
std::vector<GatePart> readiness_of(const std::vector<Share>& shares, Range range);
// The range becomes ready from its beginning, as this gate opens.
void set_ready(std::vector<Share>& shares, Range range, const Gate& gate);

}  // namespace dtl::ring
