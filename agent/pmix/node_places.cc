#include "agent/pmix/node_places.h"

#include "base/error.h"

namespace dtl::pmix {
namespace {

std::uint32_t add_to(std::vector<std::vector<std::uint32_t>>& lists, std::uint32_t index,
                     std::uint32_t rank) {
  if (index >= lists.size()) lists.resize(index + 1);
  lists[index].push_back(rank);
  return static_cast<std::uint32_t>(lists[index].size() - 1);
}

}  // namespace

NodePlaces find_places(const ServePmix& job) {
  NodePlaces places;
  places.space = job.space;
  places.node = job.node;
  places.hosts = job.hosts;
  places.of_node.resize(job.hosts.size());
  for (const PmixPlace& place : job.places) {
    // Each program has a rank, so their numbers are bounded, too.
    if (place.node >= job.hosts.size() || place.program >= job.places.size()) {
      throw Error(Exit::kVersion, "a job for PMIx", "names a node or a program that the job lacks");
    }
    const auto rank = static_cast<std::uint32_t>(places.ranks.size());
    places.ranks.push_back({place.node, place.program, add_to(places.of_node, place.node, rank),
                            add_to(places.programs, place.program, rank)});
  }
  if (job.node >= job.hosts.size() || places.here().empty()) {
    throw Error(Exit::kVersion, "a job for PMIx", "has no rank on this node");
  }
  return places;
}

std::string list_of(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (const std::uint32_t rank : ranks) {
    if (!text.empty()) text += ',';
    text += std::to_string(rank);
  }
  return text;
}

}  // namespace dtl::pmix
