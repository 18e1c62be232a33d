#include "ring/perf/perf_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "ring/links/operation_header.h"
#include "ring/operation/algorithm_table.h"
#include "ring/operation/choice.h"
#include "ring/perf/perf_text.h"

namespace dtl::ring {
namespace {

constexpr std::uint64_t kLeastBytes = 4, kMostBytes = 256 << 20;

std::string size_text(std::uint64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{}M", bytes >> 20);
  if (bytes >= 1 << 10) return fmt::format("{}K", bytes >> 10);
  return fmt::format("{}", bytes);
}

double number(const std::string& text) {
  try {
    return std::stod(text);
  } catch (const std::exception&) {
    return 0;
  }
}

// What is known about the choice, and how it was made.
struct Known {
  WorldShape shape;
  double latency_us = 0, rate = 0;
  bool is_measured = false;
  LinkCosts costs = {};
  AlgorithmTable table = {};
};

Known known_from(const std::string& stats) {
  std::map<std::string, std::string> facts;
  for (const auto& [name, value] : json_members(stats)) facts[name] = value;
  Known known;
  known.shape = {static_cast<std::size_t>(number(facts["world"])),
                 static_cast<std::size_t>(number(facts["nodes"]))};
  if (known.shape.ranks < 2) return known;
  known.latency_us = number(facts["latency_us"]);
  known.rate = number(facts["gigabytes_per_second"]);
  known.is_measured = facts["measured"] == "true";
  set_latency(known.costs, known.shape, known.latency_us * 1e-6);
  set_byte(known.costs, known.shape, 1e-9 / known.rate);
  std::string ranges = facts["allreduce"];
  if (ranges.size() >= 2) ranges = ranges.substr(1, ranges.size() - 2);  // without quotes
  known.table = AlgorithmTable::parse(ranges, {});
  return known;
}

std::string links_of(const Known& known) {
  const auto& [ranks, nodes] = known.shape;
  // As fast as a measurement can say: it was lost in noise.
  const std::string rate = known.rate > 900 ? "bandwidth not to be told"
                                            : fmt::format("{:.2f} GB/s each way", known.rate);
  return fmt::format(
      "{} ranks on {} {}: {:.1f} us of latency, {}\n({}).\n", ranks, nodes,
      nodes == 1 ? "host" : "hosts", known.latency_us, rate,
      known.is_measured ? "measured when the ranks met" : "assumed: nothing was measured");
}

std::string reason_of(const Known& known, const std::vector<Algorithm>& algorithms) {
  const auto& [ranks, nodes] = known.shape;
  const AlgorithmTable usual =
      AlgorithmTable::by_default(static_cast<int>(ranks), nodes, known.costs);
  const bool is_timed = AlgorithmTable::is_timed(known.shape);
  if (!known.is_measured && known.table.text() != usual.text()) {
    return "The program or DTRING_ALLREDUCE has set the algorithms.\n";
  }
  if (is_timed && known.is_measured) {
    return "Up to 16 ranks choose by timing algorithms when they meet, not by predictions.\n";
  }
  if (is_timed) return "Up to 16 ranks that measure nothing have a fixed choice.\n";
  std::string text = "The least prediction is chosen.\n";
  if (nodes == 1) {
    text += fmt::format("Up to {} bytes it is oneshot, in shared memory, without a prediction.\n",
                        kMostOnBoard / ranks);
  }
  if (std::find(algorithms.begin(), algorithms.end(), Algorithm::kGroups) != algorithms.end()) {
    text += "groups must be a fifth quicker, since it opens more connections.\n";
  }
  return text;
}

}  // namespace

std::string explain(const std::string& stats) {
  const Known known = known_from(stats);
  if (known.shape.ranks < 2) return "One rank: there is nothing to choose.\n";
  std::vector<Algorithm> algorithms = AlgorithmTable::candidates(known.shape);
  const auto has = [&](Algorithm algorithm) {
    return std::find(algorithms.begin(), algorithms.end(), algorithm) != algorithms.end();
  };
  for (std::uint64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) {
    const Algorithm chosen = known.table.choose(bytes);
    if (!has(chosen)) algorithms.insert(algorithms.begin(), chosen);
  }
  std::string text = links_of(known) + reason_of(known, algorithms) +
                     fmt::format("\nPredicted microseconds of an allreduce:\n{:>6}", "bytes");
  for (const Algorithm algorithm : algorithms) {
    text += fmt::format("{:>9}", algorithm_name(algorithm));
  }
  text += "  chosen\n";
  for (std::uint64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) {
    text += fmt::format("{:>6}", size_text(bytes));
    for (const Algorithm algorithm : algorithms) {
      const double us = allreduce_time(algorithm, known.shape, bytes, known.costs) * 1e6;
      text += fmt::format("{:>9}", us < 1e7 ? four_digits(us) : fmt::format("{:.1e}", us));
    }
    text += fmt::format("  {}\n", algorithm_name(known.table.choose(bytes)));
  }
  return text;
}

}  // namespace dtl::ring
