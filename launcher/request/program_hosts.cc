// Two programs may share a host, so hosts are numbered by name, in order of appearance.
#include "launcher/request/program_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

void check_alone(const CommandLine& line) {
  // If only some programs had hosts, the ranks of the others could not be placed.
  const bool all_have = std::none_of(line.programs.begin(), line.programs.end(),
                                     [](const ProgramLine& each) { return each.hosts.empty(); });
  const bool placed = line.placement.deal || !line.placement.rank_map.empty() ||
                      line.placement.ranks_per_node || line.placement.nodes ||
                      line.placement.node_range || line.placement.skip_launch_host;
  const bool named = !line.hosts.empty() || !line.hostfile.empty();
  if (all_have && !placed && !named) return;
  throw option_error("-host",
                     all_have
                         ? "given for a program, and another option says where ranks go as well"
                         : "given for one program, and another has none",
                     "-host for each program and no other placement, or -hosts once");
}

// The host of each rank, as an index into `hosts`: by slots, host after host, in rounds.
std::vector<std::size_t> deal(const ProgramLine& program, const std::vector<Host>& hosts,
                              bool oversubscribe) {
  std::size_t offered = 0;
  bool counted = true;
  for (const Host& host : hosts) {
    offered += static_cast<std::size_t>(host.slots.value_or(1));
    counted = counted && host.slots;
  }
  // Without -n a program has a rank on each slot.
  const std::size_t ranks = program.ranks ? static_cast<std::size_t>(*program.ranks)
                                          : std::min<std::size_t>(offered, kMaxRanks);
  // Only if all slots are known: other hosts' slots are known only to their agents.
  if (counted && ranks > offered && !oversubscribe) {
    throw option_error(fmt::format("-n {} -host {}", ranks, program.hosts),
                       fmt::format("there are only {} slots", offered), "--oversubscribe");
  }
  std::vector<std::size_t> places;
  // Another round if there are more ranks than slots.
  while (places.size() < ranks) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const auto slots = static_cast<std::size_t>(hosts[i].slots.value_or(1));
      places.insert(places.end(), std::min(slots, ranks - places.size()), i);
    }
  }
  return places;
}

}  // namespace

void place_programs(const CommandLine& line, Request& request) {
  const bool none = std::all_of(line.programs.begin(), line.programs.end(),
                                [](const ProgramLine& each) { return each.hosts.empty(); });
  if (none) return;
  check_alone(line);
  std::map<std::string, int> numbers;  // of the hosts, by canonical name
  request.hosts.clear();
  for (std::size_t i = 0; i < line.programs.size(); ++i) {
    const std::vector<Host> hosts = parse_host_option(line.programs[i].hosts);
    const std::vector<std::size_t> places =
        deal(line.programs[i], hosts, line.placement.oversubscribe);
    for (const std::size_t place : places) {
      const auto [found, is_new] = numbers.try_emplace(canonical_name(hosts[place].name),
                                                       static_cast<int>(request.hosts.size()));
      if (is_new) {
        request.hosts.push_back(hosts[place]);
        request.hosts.back().slots.reset();  // the map has all placements
      }
      request.placement.rank_map.push_back(found->second);
    }
    request.programs[i].ranks = static_cast<int>(places.size());
  }
  if (request.placement.rank_map.size() > static_cast<std::size_t>(kMaxRanks)) {
    throw option_error(
        "-host",
        fmt::format("{} ranks are more than {}", request.placement.rank_map.size(), kMaxRanks),
        "-np N for each program");
  }
  request.placement.ranks = static_cast<int>(request.placement.rank_map.size());
}

}  // namespace dtl
