#include "agent/node/neighbour_table.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/text.h"

namespace dtl {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words = split(line, ' ');
  std::erase_if(words, [](const std::string& word) { return word.empty(); });
  return words;
}

// Of one protocol.
std::optional<std::uint64_t> refusals_in(const char* path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_neighbour_refusals(text);
}

}  // namespace

const char* const kNeighbourTableFull =
    "no answer in time: the kernel's table of neighbours is full; raise "
    "net.ipv4.neigh.default.gc_thresh3 (sysctl)";

std::optional<std::uint64_t> parse_neighbour_refusals(std::string_view text) {
  const std::vector<std::string> lines = split(text, '\n');
  if (lines.empty()) return std::nullopt;
  const std::vector<std::string> names = words_of(lines[0]);
  const auto column = static_cast<std::size_t>(
      std::find(names.begin(), names.end(), "table_fulls") - names.begin());
  if (column == names.size()) return std::nullopt;
  std::uint64_t sum = 0;
  for (auto line = std::next(lines.begin()); line != lines.end(); ++line) {
    const std::vector<std::string> counts = words_of(*line);
    if (counts.size() <= column) continue;
    std::uint64_t count = 0;
    const std::string& word = counts[column];
    std::from_chars(word.data(), word.data() + word.size(), count, 16);
    sum += count;
  }
  return sum;
}

std::optional<std::uint64_t> neighbour_refusals() {
  const auto v4 = refusals_in("/proc/net/stat/arp_cache");
  const auto v6 = refusals_in("/proc/net/stat/ndisc_cache");
  if (!v4 && !v6) return std::nullopt;
  return v4.value_or(0) + v6.value_or(0);
}

}  // namespace dtl
