// dtlaunch-cores/1/JOB/SINCE/x|s/NUMBER/CPUS: the version, the job's id, milliseconds, exclusive or
// shared, eight hexadecimal digits, and CPUs as the kernel lists them.
#include "agent/cores/claim_name.h"

#include <fmt/format.h>

#include <utility>

#include "agent/cores/name_words.h"
#include "base/text.h"

namespace dtl {
namespace {

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
    if (!list.empty() && begin.size() + list.size() + 1 + range.size() > kMaxSocketName) {
      names.push_back(begin + std::exchange(list, {}));
    }
    list += (list.empty() ? "" : ",") + range;
  }
  names.push_back(begin + list);
  return names;
}

std::optional<ClaimName> read_claim_name(std::string_view name, int highest_cpu) {
  if (!name.starts_with(kClaimPrefix) || name.size() > kMaxSocketName) return std::nullopt;
  const std::vector<std::string> words = split(name.substr(kClaimPrefix.size()), '/');
  if (words.size() != 5 || !is_job_word(words[0])) return std::nullopt;
  if (words[2] != "x" && words[2] != "s") return std::nullopt;
  const auto since = parse_integer(words[1], 0, INT64_MAX);
  const auto number = read_name_number(words[3]);
  auto cpus = read_cpu_list(words[4], highest_cpu);
  if (!since || !number || !cpus) return std::nullopt;
  ClaimName claim{words[0], std::chrono::milliseconds(*since), words[2] == "s", *number,
                  std::move(*cpus)};
  // A second spelling of the same claim would count as another one.
  if (beginning(claim) + words[4] != name) return std::nullopt;
  return claim;
}

}  // namespace dtl
