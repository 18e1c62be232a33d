#include "agent/cores/name_words.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kJobDigits = 16;

}  // namespace

bool is_job_word(std::string_view word) {
  return !word.empty() && word.size() <= kJobDigits;
}

// Only as CpuSet::to_list() writes them.
std::optional<CpuSet> read_cpu_list(std::string_view text, int highest) {
  CpuSet cpus;
  std::int64_t least = 0;  // that the next range may begin with
  for (const std::string& range : split(text, ',')) {
    const std::vector<std::string> ends = split(range, '-');
    const auto first = parse_integer(ends[0], least, kMostCpus - 1);
    if (!first || ends.size() > 2 || ends[0] != std::to_string(*first)) return std::nullopt;
    std::int64_t last = *first;
    if (ends.size() == 2) {
      const auto end = parse_integer(ends[1], *first + 1, kMostCpus - 1);
      if (!end || ends[1] != std::to_string(*end)) return std::nullopt;
      last = *end;
    }
    for (auto cpu = *first; cpu <= std::min<std::int64_t>(last, highest); ++cpu) {
      cpus.add(static_cast<int>(cpu));
    }
    least = last + 2;
  }
  return cpus;
}

std::optional<std::uint32_t> read_name_number(std::string_view digits) {
  std::uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, number, 16);
  if (fault != std::errc() || stop != end || digits.size() != 8) return std::nullopt;
  return number;
}

}  // namespace dtl
