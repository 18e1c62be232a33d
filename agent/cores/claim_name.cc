// dtlaunch-cores/1/JOB/SINCE/x|s/NUMBER/CPUS: the version, the job's id, milliseconds, exclusive or
// shared, eight hexadecimal digits, and CPUs as the kernel lists them.
#include "agent/cores/claim_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kJobDigits = 16;

// Only as CpuSet::to_list() writes them. Anybody may list all CPUs in each of many names, so it
// takes no time for those above `highest`.
std::optional<CpuSet> read_cpus(std::string_view text, int highest) {
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

std::optional<std::uint32_t> read_number(std::string_view digits) {
  std::uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, number, 16);
  if (fault != std::errc() || stop != end || digits.size() != 8) return std::nullopt;
  return number;
}

std::string beginning(const ClaimName& claim) {
  return fmt::format("{}{}/{}/{}/{:08x}/", kClaimPrefix, claim.job_id, claim.since.count(),
                     claim.shared ? 's' : 'x', claim.number);
}

}  // namespace

std::vector<std::string> write_claim_names(const ClaimName& claim) {
  const std::string begin = beginning(claim);
  std::vector<std::string> names;
  std::string list;
  for (const std::string& range : split(claim.cpus.to_list(), ',')) {
    if (!list.empty() && begin.size() + list.size() + 1 + range.size() > kMaxClaimName) {
      names.push_back(begin + std::exchange(list, {}));
    }
    list += (list.empty() ? "" : ",") + range;
  }
  names.push_back(begin + list);
  return names;
}

std::optional<ClaimName> read_claim_name(std::string_view name, int highest_cpu) {
  if (!name.starts_with(kClaimPrefix) || name.size() > kMaxClaimName) return std::nullopt;
  const std::vector<std::string> words = split(name.substr(kClaimPrefix.size()), '/');
  if (words.size() != 5 || words[0].empty() || words[0].size() > kJobDigits) return std::nullopt;
  if (words[2] != "x" && words[2] != "s") return std::nullopt;
  const auto since = parse_integer(words[1], 0, INT64_MAX);
  const auto number = read_number(words[3]);
  auto cpus = read_cpus(words[4], highest_cpu);
  if (!since || !number || !cpus) return std::nullopt;
  ClaimName claim{words[0], std::chrono::milliseconds(*since), words[2] == "s", *number,
                  std::move(*cpus)};
  // A second spelling of the same claim would count as another one.
  if (beginning(claim) + words[4] != name) return std::nullopt;
  return claim;
}

}  // namespace dtl
