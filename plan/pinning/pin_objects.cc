// A topology is a list of cores, each with the numbers of the objects that contain it. An object is
// all cores with the same number; there is no tree. Numbers are unique in the node (topology.h), so
// a number identifies an object.
#include "plan/pinning/pin_objects.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace dtl {
namespace {

// The number of the object of this type that contains the core. own: the core's index.
int object_of(const Core& core, PinObject object, int own) {
  switch (object) {
    case PinObject::kThread:
    case PinObject::kCore:
      return own;
    case PinObject::kCache1:
      return core.cache1;
    case PinObject::kCache2:
      return core.cache2;
    case PinObject::kCache3:
    case PinObject::kCache:  // the largest
      return core.cache3;
    case PinObject::kNuma:
      return core.numa;
    case PinObject::kPackage:
      return core.package;
    case PinObject::kNode:
      return 0;
  }
  return own;
}

std::vector<CpuSet> single_cpus(const CpuSet& cpus) {
  std::vector<CpuSet> singles;
  for (const int cpu : cpus.to_vector()) singles.push_back(CpuSet({cpu}));
  return singles;
}

// The objects that contain a unit, outermost first: package, NUMA node, cache, core. Looked up by
// the core of the unit's first CPU. If the node does not know its cores all are zero, so all units
// are neighbours.
using Kinship = std::tuple<int, int, int, int>;

std::vector<Kinship> kinships(const NodeTopology& topology, const std::vector<CpuSet>& units) {
  std::map<int, Kinship> of_cpu;
  for (std::size_t i = 0; i < topology.cores.size(); ++i) {
    const Core& core = topology.cores[i];
    for (const int cpu : core.cpus) {
      of_cpu[cpu] = {core.package, core.numa, core.cache3, static_cast<int>(i)};
    }
  }
  std::vector<Kinship> found;
  for (const CpuSet& unit : units) found.push_back(of_cpu[unit.first()]);
  return found;
}

using Indices = std::vector<std::size_t>;

// std::get() needs a constant index.
int level_of(const Kinship& kinship, int level) {
  switch (level) {
    case 0:
      return std::get<0>(kinship);
    case 1:
      return std::get<1>(kinship);
    case 2:
      return std::get<2>(kinship);
  }
  return std::get<3>(kinship);
}

// Takes one of each package in turn; within a package one of each NUMA node in turn; and so on.
Indices scattered(const std::vector<Kinship>& kinship, const Indices& members, int level) {
  constexpr int kLevels = 4;
  if (level == kLevels || members.size() < 2) return members;
  std::vector<Indices> groups;
  std::map<int, std::size_t> group_of;
  for (const std::size_t member : members) {
    const int key = level_of(kinship[member], level);
    const auto [at, is_new] = group_of.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(member);
  }
  for (Indices& group : groups) group = scattered(kinship, group, level + 1);
  Indices result;
  for (std::size_t round = 0; result.size() < members.size(); ++round) {
    for (const Indices& group : groups) {
      if (round < group.size()) result.push_back(group[round]);
    }
  }
  return result;
}

Indices in_sequence(std::size_t count) {
  Indices all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

// Distributes ranks evenly over packages, as neighbours within each.
Indices bunched(const std::vector<Kinship>& kinship, std::size_t count) {
  std::map<int, Indices> packages;
  for (std::size_t i = 0; i < kinship.size(); ++i) {
    packages[level_of(kinship[i], 0)].push_back(i);
  }
  Indices result;
  std::size_t left = count, packages_left = packages.size();
  for (const auto& [package, units] : packages) {
    // Rounded up, so that the first packages have one more.
    const std::size_t share = (left + packages_left - 1) / packages_left;
    for (std::size_t k = 0; k < share; ++k) result.push_back(units[k % units.size()]);
    left -= share;
    --packages_left;
  }
  return result;
}

Indices spread_evenly(std::size_t units, std::size_t count) {
  Indices result;
  // Evenly over the list: 0, units / count, 2 units / count ..
  for (std::size_t k = 0; k < count; ++k) result.push_back(k * units / count);
  return result;
}

Indices by_first_cpu(const std::vector<CpuSet>& units) {
  Indices all = in_sequence(units.size());
  std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
    return units[a].first() < units[b].first();
  });
  return all;
}

}  // namespace

std::vector<CpuSet> objects_of(const NodeTopology& topology, PinObject object) {
  const bool single = object == PinObject::kThread || object == PinObject::kCore;
  // The node does not know its cores. Each CPU then counts as a core, and all together as any
  // larger object, so every request still has an answer.
  if (topology.cores.empty()) {
    if (single) return single_cpus(topology.allowed);
    return {topology.allowed};
  }
  std::vector<CpuSet> objects;
  std::map<int, std::size_t> position;
  for (std::size_t i = 0; i < topology.cores.size(); ++i) {
    const Core& core = topology.cores[i];
    const CpuSet cpus = CpuSet(core.cpus) & topology.allowed;
    // Nobody may use a core outside of the affinity or cpuset.
    if (cpus.empty()) continue;
    if (object == PinObject::kThread) {
      for (CpuSet& cpu : single_cpus(cpus)) objects.push_back(std::move(cpu));
      continue;
    }
    const int key = object_of(core, object, static_cast<int>(i));
    const auto [at, is_new] = position.try_emplace(key, objects.size());
    if (is_new) objects.emplace_back();
    objects[at->second] = objects[at->second] | cpus;
  }
  return objects;
}

std::vector<CpuSet> arrange(const NodeTopology& topology, const std::vector<CpuSet>& units,
                            PinOrder order, std::size_t count) {
  // Empty sets: no rank is pinned.
  if (units.empty()) return std::vector<CpuSet>(count);
  Indices chosen;
  switch (order) {
    case PinOrder::kCompact:
      chosen = in_sequence(units.size());
      break;
    case PinOrder::kScatter:
      chosen = scattered(kinships(topology, units), in_sequence(units.size()), 0);
      break;
    case PinOrder::kRange:
      chosen = by_first_cpu(units);
      break;
    case PinOrder::kBunch:
      chosen = bunched(kinships(topology, units), count);
      break;
    case PinOrder::kSpread:
      chosen =
          count < units.size() ? spread_evenly(units.size(), count) : in_sequence(units.size());
      break;
  }
  std::vector<CpuSet> result;
  for (std::size_t k = 0; k < count; ++k) result.push_back(units[chosen[k % chosen.size()]]);
  return result;
}

std::vector<int> cpus_in_layout(const NodeTopology& topology, PinLayout layout) {
  std::vector<CpuSet> singles = objects_of(topology, PinObject::kThread);
  if (layout == PinLayout::kPlatform) return topology.allowed.to_vector();
  if (layout == PinLayout::kScatter) {
    singles = arrange(topology, singles, PinOrder::kScatter, singles.size());
  }
  std::vector<int> cpus;
  for (const CpuSet& single : singles) cpus.push_back(single.first());
  return cpus;
}

}  // namespace dtl
