#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <numeric>

#include "base/error.h"
#include "base/limits.h"

namespace dtl {
namespace {

std::vector<std::int64_t> capacities(const Request& request, const std::vector<int>& cores) {
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const bool named = i < request.hosts.size() && request.hosts[i].slots.has_value();
    slots.push_back(request.ranks_per_node ? *request.ranks_per_node
                    : named                ? *request.hosts[i].slots
                                           : std::max(cores[i], 1));
  }
  return slots;
}

// Why there are so few: "-ppn 2 on 2 hosts", "this machine has 2 physical cores".
std::string offer(const Request& request, std::size_t hosts, std::int64_t total) {
  if (request.ranks_per_node) {
    return fmt::format("-ppn {} on {} host{} makes {}", *request.ranks_per_node, hosts,
                       hosts == 1 ? "" : "s", total);
  }
  if (request.hosts.empty()) {
    return fmt::format("this machine has {} physical core{} to give", total, total == 1 ? "" : "s");
  }
  return fmt::format("{} host{} offer{} {}", hosts, hosts == 1 ? "" : "s", hosts == 1 ? "s" : "",
                     total);
}

void check_positive(const std::optional<int>& value, const char* option) {
  if (!value || *value >= 1) return;
  throw Error(Exit::kUsage, "cannot place the ranks",
              fmt::format("{} {} is not a number of ranks", option, *value),
              fmt::format("{} 1 or more", option));
}

// The number of ranks to place.
std::int64_t check_ranks(const Request& request, std::size_t hosts, std::int64_t total) {
  check_positive(request.ranks, "-np");
  check_positive(request.ranks_per_node, "-ppn");
  const std::int64_t ranks = request.ranks ? *request.ranks : total;
  if (ranks > kMaxRanks) {
    throw Error(Exit::kUsage, "cannot place the ranks",
                fmt::format("{} ranks are more than {}", ranks, kMaxRanks));
  }
  if (ranks > total && !request.oversubscribe) {
    throw Error(Exit::kUsage, "cannot place the ranks",
                fmt::format("-np {} needs {} more slot{}: {}", ranks, ranks - total,
                            ranks - total == 1 ? "" : "s", offer(request, hosts, total)),
                fmt::format("-np {}, or --oversubscribe", total));
  }
  return ranks;
}

// --oversubscribe: one more on each host in turn, as far as its max_slots allows.
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
    if (left < before) continue;
    throw Error(Exit::kUsage, "cannot place the ranks",
                fmt::format("{} rank{} left over: every host is at its max_slots", left,
                            left == 1 ? " is" : "s are"),
                "fewer ranks, or more hosts");
  }
}

}  // namespace

std::vector<int> programs_of_ranks(const Request& request, std::size_t ranks) {
  std::vector<int> programs;
  for (std::size_t i = 0; i < request.programs.size(); ++i) {
    const bool last = i + 1 == request.programs.size();
    const auto count = static_cast<std::size_t>(request.programs[i].ranks.value_or(1));
    programs.resize(last ? ranks : std::min(ranks, programs.size() + count), static_cast<int>(i));
  }
  return programs;
}

std::vector<RankPlace> place_ranks(const Request& request, const std::vector<int>& cores) {
  assert(cores.size() == std::max<std::size_t>(request.hosts.size(), 1));
  const std::vector<std::int64_t> slots = capacities(request, cores);
  const std::int64_t total = std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
  std::int64_t left = check_ranks(request, cores.size(), total);

  std::vector<int> counts;
  for (const std::int64_t offered : slots) {
    counts.push_back(static_cast<int>(std::min(offered, left)));
    left -= counts.back();
  }
  deal_surplus(request, left, counts);

  std::vector<RankPlace> places;
  for (std::size_t host = 0; host < counts.size(); ++host) {
    for (int local = 0; local < counts[host]; ++local) {
      places.push_back(
          {static_cast<int>(places.size()), static_cast<int>(host), local, counts[host]});
    }
  }
  return places;
}

}  // namespace dtl
