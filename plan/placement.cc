// Three steps: how many ranks each host offers, how many it gets, and which ranks those are. The
// first two only count; only number() knows that a machine may have several names. Totals have 64
// bits: kMaxHosts hosts of kMaxRanks slots each overflow an int.
#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/core_owners.h"
#include "plan/pinning/pinning.h"
#include "plan/same_machine.h"

namespace dtl {
namespace {

// Other jobs leave `free` of a host's cores: it offers no more ranks than these, or a part of its
// slots if those are more than its cores.
int share_of_slots(int slots, int cores, int free) {
  if (slots <= cores) return std::min(slots, free);
  return static_cast<int>(static_cast<std::int64_t>(slots) * free / cores);
}

// With -ppn N a host gets N ranks, or none.
int whole_share(int ranks, int cores, int free) {
  return share_of_slots(ranks, cores, free) == ranks ? ranks : 0;
}

// The number of ranks that each host offers. Names without slots share the node's remaining cores.
std::vector<std::int64_t> capacities(const Request& request, const std::vector<int>& cores,
                                     const std::vector<int>& first,
                                     const std::vector<std::optional<int>>& free) {
  // -ppn overrides the slots of all hosts, as in mpirun.
  const auto named = [&](std::size_t i) -> std::optional<int> {
    const bool by_node = request.placement.ranks_per_node.has_value();
    const auto slots = by_node                    ? request.placement.ranks_per_node
                       : i < request.hosts.size() ? request.hosts[i].slots
                                                  : std::nullopt;
    if (!slots || !free[i]) return slots;
    return by_node ? whole_share(*slots, cores[i], *free[i])
                   : share_of_slots(*slots, cores[i], *free[i]);
  };
  std::vector<std::int64_t> left(cores.size());  // cores left, under the node's first name
  for (std::size_t i = 0; i < cores.size(); ++i) left[i] = free[i].value_or(std::max(cores[i], 1));
  for (std::size_t i = 0; i < cores.size(); ++i) {
    left[static_cast<std::size_t>(first[i])] -= named(i).value_or(0);
  }
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    // In the hosts' order: the first name without slots takes the rest, up to its max_slots.
    std::int64_t& rest = left[static_cast<std::size_t>(first[i])];
    if (named(i)) {
      slots.push_back(*named(i));
      continue;
    }
    const bool bounded = i < request.hosts.size() && request.hosts[i].max_slots;
    const std::int64_t most = bounded ? *request.hosts[i].max_slots : rest;
    slots.push_back(std::clamp<std::int64_t>(most, 0, std::max<std::int64_t>(rest, 0)));
    rest = std::max<std::int64_t>(rest - slots.back(), 0);
  }
  return slots;
}

// The reason for the limit, for the message: "-ppn 2 on 2 hosts makes 4".
std::string offer(const Request& request, std::size_t hosts, std::int64_t total, bool by_quota) {
  if (request.placement.ranks_per_node) {
    return fmt::format("-ppn {} on {} makes {}", *request.placement.ranks_per_node,
                       plural(hosts, "host"), total);
  }
  if (request.hosts.empty() && by_quota) {
    return fmt::format("the CPU quota of dtlaunch's cgroup is {}", plural(total, "core"));
  }
  if (request.hosts.empty()) {
    return fmt::format("this machine has {} to give", plural(total, "physical core"));
  }
  return fmt::format("{} offer{} {}", plural(hosts, "host"), hosts == 1 ? "s" : "", total);
}

bool is_bounded_by_quota(const NodeTopology& topology) {
  NodeTopology without = topology;
  without.quota_cpus = 0;
  return budget_cores(topology) < budget_cores(without);
}

void check_positive(const std::optional<int>& value, const char* option) {
  if (!value || *value >= 1) return;
  throw option_error(fmt::format("{} {}", option, *value), "too small (1 or more)",
                     fmt::format("{} 1", option));
}

// The number of ranks to place.
std::int64_t check_ranks(const Request& request, std::size_t hosts, std::int64_t total,
                         bool by_quota) {
  check_positive(request.placement.ranks, "-np");
  check_positive(request.placement.ranks_per_node, "-ppn");
  std::int64_t ranks = request.placement.ranks ? *request.placement.ranks : total;
  // An elastic job uses all slots within its range. With --oversubscribe slots set no limit.
  if (request.placement.rank_range) {
    const auto [least, most] = *request.placement.rank_range;
    ranks = request.placement.oversubscribe ? most : std::clamp<std::int64_t>(total, least, most);
  }
  if (ranks > kMaxRanks) {
    throw option_error(
        request.placement.ranks ? fmt::format("-np {}", ranks) : "slots of the hosts",
        fmt::format("{} ranks are more than {}", ranks, kMaxRanks),
        fmt::format("-np {}", kMaxRanks));
  }
  if (ranks > total && !request.placement.oversubscribe) {
    throw option_error(fmt::format("-np {}", ranks),
                       fmt::format("needs {}: {}", plural(ranks - total, "more slot"),
                                   offer(request, hosts, total, by_quota)),
                       fmt::format("-np {}, or --oversubscribe", total));
  }
  return ranks;
}

// --oversubscribe: one more rank on each host in turn, up to its max_slots.
void deal_surplus(const Request& request, std::int64_t left, std::vector<int>& counts) {
  const auto has_room = [&](std::size_t host) {
    if (host >= request.hosts.size() || !request.hosts[host].max_slots) return true;
    return counts[host] < *request.hosts[host].max_slots;
  };
  while (left > 0) {
    const std::int64_t before = left;
    for (std::size_t host = 0; host < counts.size() && left > 0; ++host) {
      if (!has_room(host)) continue;
      ++counts[host];
      --left;
    }
    // A round in which no host took a rank would repeat forever.
    if (left < before) continue;
    const std::int64_t placed = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    throw option_error(fmt::format("-np {}", placed + left),
                       fmt::format("{} rank{} left over: every host is at its max_slots", left,
                                   left == 1 ? " is" : "s are"),
                       fmt::format("-np {}, or -f FILE with more hosts", placed));
  }
}

// In node1:2222 the number means slots, but users of other programs may mean a port. Unchecked, two
// cores would start 2,222 ranks.
void check_for_ports(const Request& request, const std::vector<int>& cores,
                     const std::vector<int>& counts) {
  // A number of at least four digits, and more than 16 ranks per core: users who mean that say
  // --oversubscribe.
  constexpr int kLikePort = 1000, kManyForCore = 16;
  // Either option states the number of ranks, so there is no doubt.
  if (request.placement.oversubscribe || request.placement.ranks_per_node) return;
  for (std::size_t i = 0; i < request.hosts.size(); ++i) {
    const Host& host = request.hosts[i];
    const int slots = host.slots.value_or(0);
    if (slots < kLikePort || slots / kManyForCore <= cores[i] || counts[i] <= cores[i]) continue;
    throw option_error(
        fmt::format("{}: {} on {}", host.name, plural(counts[i], "rank"), plural(cores[i], "core")),
        fmt::format("{} is its number of slots, and looks like a port", slots),
        fmt::format("a hostfile with '{} port={}', or --oversubscribe", host.name, slots));
  }
}

// How many of `ranks` each host gets: as many as it offers, host after host, or `deal` at a time in
// turn. The remaining ranks found no room; deal_surplus() places them. A round that places nothing
// ends the loop.
std::vector<int> share_out(const std::vector<std::int64_t>& slots, std::optional<int> deal,
                           std::int64_t ranks) {
  std::vector<int> counts(slots.size());
  std::int64_t before = 0;
  do {
    before = ranks;
    for (std::size_t host = 0; host < slots.size(); ++host) {
      const std::int64_t room = slots[host] - counts[host];
      const std::int64_t taken = std::min({deal ? std::int64_t{*deal} : room, room, ranks});
      counts[host] += static_cast<int>(taken);
      ranks -= taken;
    }
  } while (deal && ranks > 0 && ranks < before);
  return counts;
}

// The host of each rank, in order of rank, from the number of ranks per host.
std::vector<int> dealt(std::vector<int> counts, std::optional<int> deal) {
  std::vector<int> hosts;
  const auto total =
      static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  while (hosts.size() < total) {
    for (std::size_t host = 0; host < counts.size(); ++host) {
      const int taken = deal ? std::min(*deal, counts[host]) : counts[host];
      hosts.insert(hosts.end(), static_cast<std::size_t>(taken), static_cast<int>(host));
      counts[host] -= taken;
    }
  }
  return hosts;
}

void check_size(const Request& request, std::size_t host, int ranks) {
  if (static_cast<unsigned>(ranks) <= kMaxLocalRanks) return;
  throw option_error(
      host < request.hosts.size() ? request.hosts[host].name : "this machine",
      fmt::format("it would have {} ranks, and a host takes {}", ranks, kMaxLocalRanks),
      fmt::format("-ppn {}", kMaxLocalRanks));
}

// `hosts` has the host of each rank. The ranks of a machine with several names all go to the agent
// of its first name, the only one that stays. Tasks keep separate agents, and share only the
// numbering.
std::vector<RankPlace> number(const Request& request, const std::vector<int>& hosts,
                              const std::vector<int>& first) {
  const auto machine_of = [&](int host) {
    return static_cast<std::size_t>(first[static_cast<std::size_t>(host)]);
  };
  std::vector<int> sizes(first.size()), next(first.size()), nodes(first.size(), -1);
  int known = 0;
  for (const int host : hosts) {
    const std::size_t machine = machine_of(host);
    // Machines are numbered by their first rank. All sizes must be known before creating places.
    if (sizes[machine]++ == 0) nodes[machine] = known++;
  }
  for (std::size_t host = 0; host < sizes.size(); ++host) check_size(request, host, sizes[host]);
  std::vector<RankPlace> places;
  for (const int host : hosts) {
    const std::size_t machine = machine_of(host);
    places.push_back({static_cast<int>(places.size()),
                      request.hosts_are_tasks ? host : static_cast<int>(machine), next[machine]++,
                      sizes[machine], nodes[machine]});
  }
  return places;
}

void check_rank_map(const Request& request, std::size_t hosts) {
  const int highest =
      *std::max_element(request.placement.rank_map.begin(), request.placement.rank_map.end());
  if (static_cast<std::size_t>(highest) >= hosts) {
    throw option_error("-rankmap",
                       fmt::format("host {} does not exist: the hosts have the numbers 0 to {}",
                                   highest, hosts - 1),
                       "dtlaunch --dry-run, without -rankmap");
  }
  if (request.placement.ranks &&
      static_cast<std::size_t>(*request.placement.ranks) != request.placement.rank_map.size()) {
    throw option_error("-rankmap",
                       fmt::format("places {} ranks, and -np says {}",
                                   request.placement.rank_map.size(), *request.placement.ranks),
                       fmt::format("-np {}", request.placement.rank_map.size()));
  }
}

[[noreturn]] void refuse_rank_map(std::string_view text, std::string_view part) {
  const std::string fault = whole_number_fault(trim(part), 0, kMaxRanks);
  const std::string why = fault.starts_with("not") ? "not understood" : fault;
  throw option_error(fmt::format("-rankmap {}", text), fmt::format("'{}' is {}", part, why),
                     "-rankmap 0,0,1");
}

// "0,4,2" -> 0 0 1 1 2 2 3 3. Checks the size before expanding: "0,65535,65535" is a short text.
// The 64-bit product cannot overflow.
void add_block(std::string_view text, std::string_view block, std::vector<int>& hosts) {
  std::vector<int> numbers;
  for (const std::string& word : split(block, ',')) {
    const auto value = parse_integer(trim(word), 0, kMaxRanks);
    if (!value) refuse_rank_map(text, block);
    numbers.push_back(static_cast<int>(*value));
  }
  if (numbers.size() != 3 ||
      static_cast<std::int64_t>(numbers[1]) * numbers[2] + static_cast<std::int64_t>(hosts.size()) >
          kMaxRanks) {
    refuse_rank_map(text, block);
  }
  for (int host = numbers[0]; host < numbers[0] + numbers[1]; ++host) {
    hosts.insert(hosts.end(), static_cast<std::size_t>(numbers[2]), host);
  }
}

}  // namespace

std::vector<int> parse_rank_map(std::string_view text) {
  std::vector<int> hosts;
  std::string_view rest = trim(text);
  // PMI_process_mapping wraps the same blocks in this form.
  constexpr std::string_view kVector = "(vector,";
  if (rest.starts_with(kVector) && rest.ends_with(')')) {
    rest.remove_prefix(kVector.size());
    rest.remove_suffix(1);
  }
  while (!rest.empty()) {
    if (rest[0] == '(') {
      const std::size_t end = rest.find(')');
      if (end == rest.npos) refuse_rank_map(text, rest);
      add_block(text, rest.substr(1, end - 1), hosts);
      rest.remove_prefix(end + 1);
    } else {
      const std::size_t end = std::min(rest.find(','), rest.size());
      const auto host = parse_integer(trim(rest.substr(0, end)), 0, kMaxRanks);
      if (!host || hosts.size() == static_cast<std::size_t>(kMaxRanks)) {
        refuse_rank_map(text, rest.substr(0, end));
      }
      hosts.push_back(static_cast<int>(*host));
      rest.remove_prefix(end);
    }
    if (rest.empty()) break;
    if (rest[0] != ',' || rest.size() == 1) refuse_rank_map(text, rest);
    rest.remove_prefix(1);
  }
  if (hosts.empty()) refuse_rank_map(text, text);
  return hosts;
}

std::vector<int> programs_of_ranks(const Request& request, std::size_t ranks) {
  std::vector<int> programs;
  for (std::size_t i = 0; i < request.programs.size(); ++i) {
    const bool last = i + 1 == request.programs.size();
    const auto count = static_cast<std::size_t>(request.programs[i].ranks.value_or(1));
    // The last program takes all remaining ranks.
    programs.resize(last ? ranks : std::min(ranks, programs.size() + count), static_cast<int>(i));
  }
  return programs;
}

std::vector<RankPlace> place_ranks(const Request& request, const std::vector<int>& cores,
                                   const std::vector<int>& nodes, bool by_quota,
                                   std::vector<std::optional<int>> free) {
  assert(cores.size() == std::max<std::size_t>(request.hosts.size(), 1));
  std::vector<int> first = nodes;
  if (first.empty()) {
    first.resize(cores.size());
    std::iota(first.begin(), first.end(), 0);
  }
  if (!request.placement.rank_map.empty()) {
    // A map overrides all slots, so nothing is counted.
    check_rank_map(request, cores.size());
    return number(request, request.placement.rank_map, first);
  }
  free.resize(cores.size());
  const std::vector<std::int64_t> slots = capacities(request, cores, first, free);
  const std::int64_t total = std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
  std::int64_t left = check_ranks(request, cores.size(), total, by_quota);

  std::vector<int> counts = share_out(slots, request.placement.deal, left);
  check_for_ports(request, cores, counts);
  left -= std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  deal_surplus(request, left, counts);

  return number(request, dealt(counts, request.placement.deal), first);
}

std::vector<RankPlace> place_ranks_on(const Request& request, const std::vector<NodeFacts>& facts) {
  std::vector<int> cores;
  std::vector<std::optional<int>> free;
  for (const NodeFacts& each : facts) {
    cores.push_back(budget_cores(each.topology));
    free.push_back(cores_left(request, each));
  }
  const std::vector<int> nodes =
      request.hosts_are_tasks ? nodes_of_tasks(facts) : nodes_of_hosts(facts);
  const bool by_quota = facts.size() == 1 && is_bounded_by_quota(facts[0].topology);
  try {
    auto places = place_ranks(request, cores, nodes, by_quota, free);
    // Without -np a job has as many ranks as there is room for.
    if (places.empty()) throw too_few_cores(request, facts);
    return places;
  } catch (const Error&) {
    const auto has_others = [](const std::optional<int>& left) { return left.has_value(); };
    if (std::none_of(free.begin(), free.end(), has_others)) throw;
    place_ranks(request, cores, nodes, by_quota);  // throws if other jobs are not the reason
    throw too_few_cores(request, facts);
  }
}

}  // namespace dtl
