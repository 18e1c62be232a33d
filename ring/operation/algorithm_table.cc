// The newest range comes first and the first match counts, so set() never splits ranges. text()
// resolves overlaps.
#include "ring/operation/algorithm_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ring/common/comm_error.h"
#include "ring/operation/choice.h"

namespace dtl::ring {
namespace {

// Bytes. Up to this size latency dominates, and the algorithm with the fewest steps is used.
constexpr std::uint64_t kShort = 32 << 10;
// Bytes: the sizes between which the cost model is asked.
constexpr std::uint64_t kLeastStep = 1 << 10, kMostStep = 1 << 30;

// A rank of `groups` has many more peers, each of which costs a connection. It must be worth it.
double weighed_time(Algorithm algorithm, WorldShape shape, std::uint64_t bytes,
                    const LinkCosts& costs) {
  const double time = allreduce_time(algorithm, shape, bytes, costs);
  return algorithm == Algorithm::kGroups ? 1.25 * time : time;
}

CommError bad_piece(const std::string& piece, const std::string& reason) {
  return {DT_E_INVAL, "allreduce algorithms: " + piece, reason,
          "DTRING_ALLREDUCE='oneshot:0-32K;direct:32K-4M;ring:4M-max'"};
}

std::uint64_t parse_bytes(const std::string& text, const std::string& piece) {
  if (text == "max") return kAnySize;
  std::string digits = text;
  unsigned shift = 0;
  const std::size_t unit =
      digits.empty() ? std::string::npos : std::string("KMG").find(digits.back());
  if (unit != std::string::npos) {
    shift = 10 * static_cast<unsigned>(unit + 1);
    digits.pop_back();
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto number = parse_integer(digits, 0, kMost);
  if (!number) {
    throw bad_piece(piece,
                    fmt::format("'{}' is {}", text, whole_number_fault(digits, 0, kMost, "bytes")));
  }
  return static_cast<std::uint64_t>(*number) << shift;
}

Algorithm parse_name(const std::string& name, const std::string& piece) {
  if (name == "recursive_doubling") return Algorithm::kDoubling;
  for (const Algorithm algorithm :
       {Algorithm::kOneShot, Algorithm::kDoubling, Algorithm::kLeaders, Algorithm::kHalving,
        Algorithm::kGroups, Algorithm::kDirect, Algorithm::kRing}) {
    if (name == algorithm_name(algorithm)) return algorithm;
  }
  throw bad_piece(piece, "not one of oneshot, doubling, leaders, halving, groups, direct, ring");
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes == kAnySize) return "max";
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{}M", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{}K", bytes >> 10);
  return fmt::format("{}", bytes);
}

}  // namespace

AlgorithmTable AlgorithmTable::by_default(int world, std::size_t nodes, const LinkCosts& costs) {
  const WorldShape shape{static_cast<std::size_t>(world), nodes};
  AlgorithmTable table;
  if (is_timed(shape)) {
    table.set(Algorithm::kDirect, 0, kAnySize);
    table.set(Algorithm::kOneShot, 0, kShort);
    return table;
  }
  const auto candidates = AlgorithmTable::candidates(shape);
  const auto quickest = [&](std::uint64_t bytes) {
    return *std::min_element(candidates.begin(), candidates.end(), [&](auto one, auto other) {
      return weighed_time(one, shape, bytes, costs) < weighed_time(other, shape, bytes, costs);
    });
  };
  table.set(quickest(kLeastStep), 0, kAnySize);
  for (std::uint64_t bytes = kLeastStep; bytes < kMostStep; bytes *= 2) {
    // What is quickest in the middle of the range, by its factors.
    table.set(quickest(bytes + bytes / 2), bytes, kAnySize);
  }
  // All ranks see all values on the boards of the only node.
  if (nodes == 1) table.set(Algorithm::kOneShot, 0, kMostOnBoard / shape.ranks);
  return table;
}

bool AlgorithmTable::is_timed(WorldShape shape) {
  return shape.ranks <= kMaxDirect;
}

// The first of equal ones counts. Direct exchange has a peer on each node.
std::vector<Algorithm> AlgorithmTable::candidates(WorldShape shape) {
  if (is_timed(shape)) return {Algorithm::kOneShot, Algorithm::kDirect, Algorithm::kRing};
  std::vector<Algorithm> all{Algorithm::kDoubling};
  if (shape.nodes < shape.ranks) all.push_back(Algorithm::kLeaders);
  all.push_back(Algorithm::kHalving);
  if (group_size_of(shape.nodes) > 1) all.push_back(Algorithm::kGroups);
  if (shape.nodes <= kMaxDirect) all.push_back(Algorithm::kDirect);
  all.push_back(Algorithm::kRing);
  return all;
}

AlgorithmTable AlgorithmTable::parse(const std::string& text, const AlgorithmTable& otherwise) {
  AlgorithmTable table = otherwise;
  std::vector<std::string> pieces = split(text, ';');
  std::reverse(pieces.begin(), pieces.end());  // the first of overlapping ranges counts
  for (const std::string& untrimmed : pieces) {
    const std::string piece(trim(untrimmed));
    if (piece.empty()) continue;
    const std::size_t colon = piece.find(':');
    const Algorithm algorithm = parse_name(piece.substr(0, colon), piece);
    if (colon == std::string::npos) {
      table.set(algorithm, 0, kAnySize);
      continue;
    }
    const std::vector<std::string> ends = split(piece.substr(colon + 1), '-');
    if (ends.size() != 2) throw bad_piece(piece, "the range is not FROM-TO");
    const std::uint64_t from = parse_bytes(ends[0], piece), to = parse_bytes(ends[1], piece);
    if (from >= to) throw bad_piece(piece, "the range is empty");
    table.set(algorithm, from, to);
  }
  return table;
}

void AlgorithmTable::set(Algorithm algorithm, std::uint64_t from, std::uint64_t to) {
  ranges_.insert(ranges_.begin(), {algorithm, from, to});
}

Algorithm AlgorithmTable::choose(std::uint64_t bytes) const {
  for (const Range& range : ranges_) {
    if (bytes >= range.from && (bytes < range.to || range.to == kAnySize)) return range.algorithm;
  }
  return Algorithm::kDirect;
}

std::string AlgorithmTable::text() const {
  std::vector<std::uint64_t> ends{0, kAnySize};
  for (const Range& range : ranges_) ends.insert(ends.end(), {range.from, range.to});
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::string text;
  for (std::size_t i = 0; i + 1 < ends.size();) {
    const Algorithm algorithm = choose(ends[i]);
    std::size_t next = i + 1;
    while (next + 1 < ends.size() && choose(ends[next]) == algorithm) ++next;
    text += fmt::format("{}{}:{}-{}", text.empty() ? "" : ";", algorithm_name(algorithm),
                        bytes_text(ends[i]), bytes_text(ends[next]));
    i = next;
  }
  return text;
}

}  // namespace dtl::ring
