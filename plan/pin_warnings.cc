// Examines a finished plan for likely mistakes. It changes and rejects nothing: each may be
// intended.
#include "plan/pin_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.h"

namespace dtl {
namespace {

// wire's limit for a CPU number, so no real CPU exceeds it.
constexpr int kMaxCpu = 65535;

// The value of NAME among "NAME=value" entries; nullopt if it is missing or empty.
std::optional<std::string> value_of(const RankPlan& rank, std::string_view name) {
  for (const std::string& entry : rank.environment) {
    if (!entry.starts_with(name) || entry.size() <= name.size() + 1) continue;
    if (entry[name.size()] == '=') return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

// "0-3 8,10-14:2": CPUs as libgomp, libiomp and oneCCL list them. nullopt for any other form: these
// libraries have more of them, and a wrong warning is worse than none.
std::optional<CpuSet> listed_cpus(std::string text) {
  std::replace(text.begin(), text.end(), ' ', ',');
  CpuSet cpus;
  for (const std::string& piece : split(text, ',')) {
    if (trim(piece).empty()) continue;
    const std::string range(trim(piece.substr(0, piece.find(':'))));
    const std::size_t dash = range.find('-');
    const auto first = parse_integer(range.substr(0, dash), 0, kMaxCpu);
    const auto last =
        dash == std::string::npos ? first : parse_integer(range.substr(dash + 1), 0, kMaxCpu);
    const auto step = piece.find(':') == std::string::npos
                          ? std::optional<std::int64_t>(1)
                          : parse_integer(piece.substr(piece.find(':') + 1), 1, kMaxCpu);
    if (!first || !last || !step || *last < *first) return std::nullopt;
    for (auto cpu = *first; cpu <= *last; cpu += *step) cpus.add(static_cast<int>(cpu));
  }
  return cpus;
}

// The list in KMP_AFFINITY=...,proclist=[0-3],... Without one the library uses the rank's mask.
std::optional<CpuSet> kmp_list(const std::string& value) {
  const std::size_t open = value.find('['), close = value.find(']');
  if (value.find("proclist") == std::string::npos || open == std::string::npos ||
      close == std::string::npos || close < open) {
    return std::nullopt;
  }
  std::string list = value.substr(open + 1, close - open - 1);
  // libiomp groups CPUs with braces: {0,1},{2,3}.
  std::erase_if(list, [](char c) { return c == '{' || c == '}'; });
  return listed_cpus(list);
}

// The CPUs that a threading library was told to use, and the variable that says so.
struct Told {
  std::string name;
  CpuSet cpus;
};

std::vector<Told> told_cpus(const RankPlan& rank) {
  std::vector<Told> told;
  const auto add = [&](const char* name, std::optional<CpuSet> cpus) {
    if (cpus && !cpus->empty()) told.push_back({name, *cpus});
  };
  if (const auto value = value_of(rank, "KMP_AFFINITY")) add("KMP_AFFINITY", kmp_list(*value));
  if (const auto value = value_of(rank, "GOMP_CPU_AFFINITY")) {
    add("GOMP_CPU_AFFINITY", listed_cpus(*value));
  }
  return told;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

class Findings {
 public:
  Findings(const NodePlan& node, const NodeFacts& facts) : node_(node), facts_(facts) {
    for (const RankPlan& rank : node.ranks) {
      used_ = used_ | rank.cpus | CpuSet(rank.comm);
      const auto workers = value_of(rank, "CCL_WORKER_AFFINITY");
      if (workers) workers_ = workers_ | listed_cpus(*workers).value_or(CpuSet());
    }
  }

  std::vector<std::string> all(bool asked) {
    // First, because find_far_ranks() needs them too.
    idle_ = idle_cpus();
    if (asked) find_idle_cores();
    find_far_ranks();
    find_other_masks();
    find_shared_workers();
    return std::move(found_);
  }

 private:
  // CPUs of cores that are completely unused.
  CpuSet idle_cpus() const {
    const CpuSet busy = used_ | workers_;
    CpuSet idle;
    for (const Core& core : facts_.topology.cores) {
      const CpuSet cpus = CpuSet(core.cpus) & facts_.topology.allowed;
      if ((cpus & busy).empty()) idle = idle | cpus;
    }
    return idle;
  }

  void find_idle_cores() {
    // A rank that is not pinned may run anywhere, so no core is certainly idle.
    const bool unpinned = std::any_of(node_.ranks.begin(), node_.ranks.end(),
                                      [](const RankPlan& rank) { return rank.cpus.empty(); });
    if (unpinned || idle_.empty()) return;
    found_.push_back(
        fmt::format("{} of {} cores are left idle: CPUs {}", cores_of(facts_.topology, idle_),
                    cores_of(facts_.topology, facts_.topology.allowed), idle_.to_list()));
  }

  int package_of(int numa) const {
    for (const Core& core : facts_.topology.cores) {
      if (core.numa == numa) return core.package;
    }
    return -1;
  }

  CpuSet cpus_of_package(int package) const {
    CpuSet cpus;
    for (const Core& core : facts_.topology.cores) {
      if (core.package == package) cpus = cpus | CpuSet(core.cpus);
    }
    return cpus;
  }

  // Only if another pinning is possible: with a rank on each socket, one of them is far.
  void find_far_ranks() {
    const int numa = numa_of_interface(facts_, node_.interface);
    const int package = numa < 0 ? -1 : package_of(numa);
    if (package < 0) return;
    const CpuSet near = cpus_of_package(package);
    const CpuSet free = near & idle_;
    std::vector<int> far;
    for (const RankPlan& rank : node_.ranks) {
      if (!rank.cpus.empty() && (rank.cpus & near).empty()) far.push_back(rank.rank);
    }
    // Without a free core near the interface there is nothing better to suggest.
    if (far.empty() || free.empty()) return;
    found_.push_back(fmt::format("{} on the far socket of {}; on the near one CPUs {} are idle",
                                 ranks_text(far), node_.interface, free.to_list()));
  }

  void find_other_masks() {
    for (const RankPlan& rank : node_.ranks) {
      if (rank.cpus.empty()) continue;
      for (const Told& told : told_cpus(rank)) {
        // The kernel's mask wins: threads told to use other CPUs share those in the mask.
        const CpuSet outside = told.cpus - rank.cpus;
        if (outside.empty()) continue;
        found_.push_back(fmt::format("rank {}: {} names CPUs {}, outside of the rank's {}",
                                     rank.rank, told.name, outside.to_list(), rank.cpus.to_list()));
      }
    }
  }

  // Exported workers may be anywhere; workers chosen by the plan never share a rank's CPUs.
  void find_shared_workers() {
    for (const RankPlan& rank : node_.ranks) {
      const CpuSet shared = workers_ & rank.cpus;
      if (shared.empty()) continue;
      found_.push_back(
          fmt::format("rank {}: oneCCL's workers run on its CPUs {}", rank.rank, shared.to_list()));
    }
  }

  const NodePlan& node_;
  const NodeFacts& facts_;
  CpuSet used_, workers_, idle_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> pin_warnings(const NodePlan& node, const NodeFacts& facts, bool asked) {
  return Findings(node, facts).all(asked);
}

// A node without a list of cores (topology.h) counts each CPU as a core.
int cores_of(const NodeTopology& topology, const CpuSet& cpus) {
  CpuSet left = cpus;
  int cores = 0;
  for (const Core& core : topology.cores) {
    const CpuSet own(core.cpus);
    if ((own & left).empty()) continue;
    ++cores;
    left = left - own;
  }
  return cores + left.count();
}

int numa_of_interface(const NodeFacts& facts, const std::string& interface) {
  for (const Nic& nic : facts.nics) {
    if (nic.name == interface) return nic.numa;
  }
  return -1;
}

}  // namespace dtl
