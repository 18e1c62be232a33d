#include "plan/core_owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/pinning/pinning.h"
#include "plan/request/name_list.h"

namespace dtl {
namespace {

constexpr std::size_t kMostNamed = 3;  // jobs, or hosts, in one message
constexpr std::size_t kMostAround = 64;
constexpr std::size_t kJobDigits = 16, kShownDigits = 4;

bool is_job_id(const std::string& text) {
  return text.size() == kJobDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

CpuSet cpus_of(const std::vector<CoreClaim>& claims) {
  CpuSet all;
  for (const CoreClaim& claim : claims) all = all | claim.cpus;
  return all;
}

// Cores with an allowed CPU in the set.
int count_cores(const NodeTopology& topology, const CpuSet& cpus) {
  return static_cast<int>(std::count_if(
      topology.cores.begin(), topology.cores.end(),
      [&](const Core& core) { return !(CpuSet(core.cpus) & topology.allowed & cpus).empty(); }));
}

std::string user_text(const CoreClaim& claim) {
  if (claim.user_id == UINT32_MAX) return "an unknown user";
  return claim.user.empty() ? fmt::format("user {}", claim.user_id) : printable(claim.user);
}

std::string job_text(const CoreClaim& claim) {
  return fmt::format("job {} of {}", printable(claim.job_id.substr(0, kShownDigits)),
                     user_text(claim));
}

std::string name_of(const Request& request, std::size_t host) {
  return request.hosts.empty() ? "localhost" : request.hosts[host].name;
}

CpuSet left_by(const std::vector<CoreClaim>& claims, const NodeFacts& facts) {
  return facts.topology.allowed - cpus_of(claims);
}

std::vector<NodeFacts> beside(const std::vector<NodeFacts>& facts,
                              const std::vector<std::vector<CoreClaim>>& claims) {
  std::vector<NodeFacts> left = facts;
  for (std::size_t host = 0; host < left.size(); ++host) {
    left[host].topology.allowed = left_by(claims[host], facts[host]);
  }
  return left;
}

// Exclusive claims of jobs that this one does not run inside of.
std::vector<CoreClaim> claims_of_owners(const Request& request, const NodeFacts& facts) {
  std::vector<CoreClaim> claims;
  for (const CoreClaim& claim : facts.claims) {
    const bool is_around = std::find(request.around.begin(), request.around.end(), claim.job_id) !=
                           request.around.end();
    const bool concerns_it = !(claim.cpus & facts.topology.allowed).empty();
    if (!claim.shared && !is_around && concerns_it) claims.push_back(claim);
  }
  return claims;
}

// Physical cores of the node's budget without those of the claims.
int count_left(const std::vector<CoreClaim>& claims, const NodeFacts& facts) {
  NodeTopology left = facts.topology;
  left.allowed = left_by(claims, facts);
  return left.allowed.empty() ? 0 : budget_cores(left);
}

// Whether the node has too few cores because of other jobs, and not because the user wants more
// ranks than cores there.
bool is_crowded_out(const Request& request, const NodeFacts& facts, std::size_t host, int ranks) {
  const int left = count_left(claims_of_owners(request, facts), facts);
  if (left == 0) return true;
  int wanted = std::max(ranks, request.placement.ranks_per_node.value_or(0));
  if (host < request.hosts.size()) wanted = std::max(wanted, request.hosts[host].slots.value_or(0));
  return ranks > left && wanted <= budget_cores(facts.topology);
}

// The plan with the CPUs in `left` alone. nullopt if they are too few for pins that the user asks
// for. Throws what is wrong with all CPUs, too.
std::optional<JobPlan> plan_apart(const Request& request, const std::vector<NodeFacts>& facts,
                                  const std::vector<NodeFacts>& left,
                                  const std::vector<RankPlace>& places, const Network& network,
                                  const std::string& job_id) {
  std::optional<JobPlan> apart;
  try {
    apart = make_job_plan(request, left, places, network, job_id);
  } catch (const Error&) {
    make_job_plan(request, facts, places, network, job_id);
    return std::nullopt;
  }
  const auto asks_for_pins = [&](const NodePlan& node) {
    const auto host = static_cast<std::size_t>(node.host);
    const PinKind kind =
        pin_request_of(request, request.hosts.empty() ? nullptr : &request.hosts[host]).kind;
    return kind != PinKind::kDefault && kind != PinKind::kNone;
  };
  if (std::none_of(apart->nodes.begin(), apart->nodes.end(), asks_for_pins)) return apart;
  const JobPlan whole = make_job_plan(request, facts, places, network, job_id);
  for (std::size_t node = 0; node < whole.nodes.size(); ++node) {
    if (!asks_for_pins(whole.nodes[node])) continue;
    for (std::size_t rank = 0; rank < whole.nodes[node].ranks.size(); ++rank) {
      const CpuSet& wanted = whole.nodes[node].ranks[rank].cpus;
      if (apart->nodes[node].ranks[rank].cpus.count() < wanted.count()) return std::nullopt;
    }
  }
  return apart;
}

void describe_neighbours(const Request& request, const std::vector<NodeFacts>& facts,
                         JobPlan& plan) {
  std::map<std::string, std::vector<std::string>> told;  // text -> nodes
  std::set<std::size_t> unused;
  for (std::size_t host = 0; host < facts.size(); ++host) unused.insert(host);
  for (const NodePlan& node : plan.nodes) {
    unused.erase(static_cast<std::size_t>(node.host));
    const NodeFacts& known = facts[static_cast<std::size_t>(node.host)];
    const CoreWish own = cores_to_claim(request, node, known);
    std::vector<CoreClaim> left, beside;
    for (const CoreClaim& claim : known.claims) {
      if ((claim.cpus & own.cpus).empty()) {
        if (!claim.shared) left.push_back(claim);
      } else if (std::find(request.around.begin(), request.around.end(), claim.job_id) ==
                 request.around.end()) {
        beside.push_back(claim);
      }
    }
    if (!left.empty() && !shares_cores(request)) {
      told["left to others: " + owners_text(left, known.topology)].push_back(node.host_name);
    }
    if (!beside.empty()) {
      told["shares its cores: " + owners_text(beside, known.topology)].push_back(node.host_name);
    }
  }
  for (const std::size_t host : unused) {
    const std::vector<CoreClaim> claims = claims_to_respect(request, facts[host]);
    if (claims.empty()) continue;
    told["left to others: " + owners_text(claims, facts[host].topology)].push_back(
        name_of(request, host));
  }
  // Who asks for it need not be told each time.
  auto& lines = shares_cores(request) ? plan.notes : plan.warnings;
  for (const auto& [text, names] : told) {
    lines.push_back(fmt::format("{}: {}", first_names(names), text));
  }
}

}  // namespace

bool shares_cores(const Request& request) {
  return request.placement.share_cores || request.placement.oversubscribe;
}

std::vector<std::string> jobs_around(const Variables& environment) {
  const auto value = [&](std::string_view name) {
    const auto found = std::find_if(environment.begin(), environment.end(),
                                    [&](const auto& each) { return each.first == name; });
    return found == environment.end() ? std::string() : found->second;
  };
  std::vector<std::string> jobs;
  std::vector<std::string> said = {value("DTLAUNCH_JOB")};
  if (said[0].empty()) return jobs;
  for (std::string& job : split(value("DTLAUNCH_JOBS_AROUND"), ':')) said.push_back(std::move(job));
  for (std::string& job : said) {
    if (is_job_id(job) && jobs.size() < kMostAround) jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<CoreClaim> claims_to_respect(const Request& request, const NodeFacts& facts) {
  return shares_cores(request) ? std::vector<CoreClaim>{} : claims_of_owners(request, facts);
}

std::optional<int> cores_left(const Request& request, const NodeFacts& facts) {
  const std::vector<CoreClaim> claims = claims_to_respect(request, facts);
  if (claims.empty()) return std::nullopt;
  return count_left(claims, facts);
}

JobPlan plan_beside_others(const Request& request, const std::vector<NodeFacts>& facts,
                           const std::vector<RankPlace>& places, const Network& network,
                           const std::string& job_id) {
  std::map<int, int> ranks;
  for (const RankPlace& place : places) ++ranks[place.host];
  std::vector<std::vector<CoreClaim>> claims;
  bool has_others = false, is_crowded = false;
  for (std::size_t host = 0; host < facts.size(); ++host) {
    const auto here = ranks.find(static_cast<int>(host));
    claims.push_back(claims_of_owners(request, facts[host]));
    if (here == ranks.end() || claims.back().empty()) continue;
    has_others = true;
    is_crowded |= is_crowded_out(request, facts[host], host, here->second);
  }
  JobPlan plan;
  if (!has_others) {
    plan = make_job_plan(request, facts, places, network, job_id);
  } else {
    std::optional<JobPlan> apart;
    if (!is_crowded) {
      apart = plan_apart(request, facts, beside(facts, claims), places, network, job_id);
    }
    if (!apart && !shares_cores(request)) throw too_few_cores(request, facts);
    plan = apart ? std::move(*apart) : make_job_plan(request, facts, places, network, job_id);
  }
  describe_neighbours(request, facts, plan);
  return plan;
}

CoreWish cores_to_claim(const Request& request, const NodePlan& node, const NodeFacts& facts) {
  CpuSet pins;
  bool all_pinned = true;
  for (const RankPlan& rank : node.ranks) {
    pins = pins | rank.cpus | CpuSet(rank.comm);
    all_pinned = all_pinned && !rank.cpus.empty();
  }
  if (!all_pinned) {
    const int cores = count_cores(facts.topology, facts.topology.allowed);
    return {facts.topology.allowed, true, static_cast<std::size_t>(cores)};
  }
  CoreWish wish{{}, shares_cores(request), 0};
  for (const Core& core : facts.topology.cores) {
    const CpuSet cpus(core.cpus);
    if ((cpus & pins).empty()) continue;
    wish.cpus = wish.cpus | (cpus & facts.topology.allowed);
    ++wish.cores;
  }
  return wish;
}

std::string owners_text(const std::vector<CoreClaim>& claims, const NodeTopology& topology) {
  std::vector<std::string> texts;
  const int cores = count_cores(topology, topology.allowed);
  for (const CoreClaim& claim : claims) {
    if (texts.size() == kMostNamed) {
      texts.push_back(plural(static_cast<std::int64_t>(claims.size() - kMostNamed), "more job"));
      break;
    }
    const std::string part =
        fmt::format("{} of {}", count_cores(topology, claim.cpus), plural(cores, "core"));
    const std::string age = age_text(static_cast<std::int64_t>(claim.age_s));
    texts.push_back(claim.waits ? fmt::format("{} has waited {} for {}", job_text(claim), age, part)
                                : fmt::format("{} has {} {} for {}", job_text(claim),
                                              claim.shared ? "shared" : "had", part, age));
  }
  return join(texts, ", ");
}

Error too_few_cores(const Request& request, const std::vector<NodeFacts>& facts) {
  std::vector<std::string> nodes;
  std::size_t more = 0;
  for (std::size_t host = 0; host < facts.size(); ++host) {
    const std::vector<CoreClaim> claims = claims_to_respect(request, facts[host]);
    if (claims.empty()) continue;
    if (nodes.size() == kMostNamed) {
      ++more;
      continue;
    }
    nodes.push_back(
        fmt::format("on {} {}", name_of(request, host), owners_text(claims, facts[host].topology)));
  }
  std::string reason = join(nodes, "; ");
  if (more > 0)
    reason += fmt::format("; and on {}", plural(static_cast<std::int64_t>(more), "more host"));
  return Error(Exit::kTryAgain, "too few free cores", std::move(reason),
               request.placement.waits
                   ? "a longer --wait, or --share-cores to run beside them"
                   : "the same command with --wait, or with --share-cores to run beside them");
}

}  // namespace dtl
