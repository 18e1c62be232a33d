#include "ring/operation/shares.h"

#include <algorithm>

namespace dtl::ring {

std::vector<Share> divide_evenly(std::uint64_t base, std::uint64_t bytes, std::size_t element,
                                 std::size_t parts) {
  constexpr std::uint64_t kLine = 64;
  const std::uint64_t unit = bytes >= parts * kLine * 4 ? kLine : element;
  const std::uint64_t units = (bytes + unit - 1) / unit;
  std::vector<Share> shares;
  std::uint64_t from = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::uint64_t mine = units / parts + (i < units % parts ? 1 : 0);
    const std::uint64_t to = std::min(bytes, from + mine * unit);
    shares.push_back({{base + from, to - from}});
    from = to;
  }
  return shares;
}

Span whole_of(const std::vector<Share>& shares, Range range) {
  if (range.from == range.to) return {};
  const Span& first = shares[range.from][0];
  const Span& last = shares[range.to - 1][0];
  return {first.at, last.at + last.bytes - first.at};
}

std::vector<GatePart> readiness_of(const std::vector<Share>& shares, Range range) {
  std::vector<GatePart> parts;
  for (std::size_t i = range.from; i < range.to; ++i) {
    parts.push_back({shares[i][0].bytes, shares[i][0].ready});
  }
  return parts;
}

void set_ready(std::vector<Share>& shares, Range range, const Gate& gate) {
  Gate here = gate;
  for (std::size_t i = range.from; i < range.to; ++i) {
    shares[i][0].ready = here;
    here.from += shares[i][0].bytes;
  }
}

}  // namespace dtl::ring
