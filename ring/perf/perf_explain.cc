#include "ring/perf/perf_explain.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/text.h"
#include "ring/links/operation_header.h"
#include "ring/operation/algorithm_table.h"
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

}  // namespace

std::string explain(const std::string& stats) {
  std::map<std::string, std::string> facts;
  for (const auto& [name, value] : json_members(stats)) facts[name] = value;
  const WorldShape shape{static_cast<std::size_t>(number(facts["world"])),
                         static_cast<std::size_t>(number(facts["nodes"]))};
  if (shape.ranks < 2) return "One rank: there is nothing to choose.\n";
  const double latency_us = number(facts["latency_us"]);
  const double rate = number(facts["gigabytes_per_second"]);
  const bool is_measured = facts["measured"] == "true";
  LinkCosts costs;
  set_latency(costs, shape, latency_us * 1e-6);
  set_byte(costs, shape, 1e-9 / rate);
  std::string ranges = facts["allreduce"];
  if (ranges.size() >= 2) ranges = ranges.substr(1, ranges.size() - 2);  // without quotes
  const AlgorithmTable table = AlgorithmTable::parse(ranges, {});
  const std::vector<Algorithm> algorithms = AlgorithmTable::candidates(shape);
  std::string text = fmt::format(
      "{} ranks on {} {}: {:.1f} us a message, {:.2f} GB/s each way\n"
      "({}).\n{}\n\nPredicted microseconds of an allreduce:\n{:>6}",
      shape.ranks, shape.nodes, shape.nodes == 1 ? "host" : "hosts", latency_us, rate,
      is_measured ? "measured when the ranks met" : "assumed: nothing was measured",
      AlgorithmTable::is_timed(shape) && is_measured
          ? "So few ranks time the algorithms themselves, and choose by that."
          : "The least prediction is chosen; groups must gain a fifth, for its connections.",
      "bytes");
  for (const Algorithm algorithm : algorithms) {
    text += fmt::format("{:>9}", algorithm_name(algorithm));
  }
  text += "  chosen\n";
  for (std::uint64_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) {
    text += fmt::format("{:>6}", size_text(bytes));
    for (const Algorithm algorithm : algorithms) {
      const double us = allreduce_time(algorithm, shape, bytes, costs) * 1e6;
      text += fmt::format("{:>9}", us < 1e7 ? four_digits(us) : fmt::format("{:.1e}", us));
    }
    text += fmt::format("  {}\n", algorithm_name(table.choose(bytes)));
  }
  return text;
}

}  // namespace dtl::ring
