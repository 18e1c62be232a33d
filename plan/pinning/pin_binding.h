#pragma once
// One parser for -bind-to, -map-by and -membind in Hydra's and Open MPI's words. All functions
// except placement_of_map() throw Error(kUsage). Pure.

#include <optional>
#include <string>

#include "plan/pinning/pin_request.h"

namespace dtl {

// One of them may be empty. Fills in kind, origin and their fields. If the map only says where
// ranks go, kind stays kDefault.
void parse_bind_and_map(const std::string& bind_to, const std::string& map_by, PinRequest& request);

// The part of -map-by about the hosts of ranks. Read with the command line, before nodes are known;
// ignores errors, which parse_bind_and_map() reports.
struct MapPlacement {
  bool round_robin = false;           // node: to one host after the other
  std::optional<int> ranks_per_node;  // ppr:N:node
  bool oversubscribe = false;         // Open MPI's slot:OVERSUBSCRIBE
};
MapPlacement placement_of_map(const std::string& map_by);

// "bind", "interleave" and similar words; ignores Hydra's words after a ':'.
MemoryPolicy parse_memory_bind(const std::string& text);

}  // namespace dtl
