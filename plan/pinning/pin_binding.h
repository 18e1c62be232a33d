#pragma once
// -bind-to, -map-by and -membind in Hydra's and Open MPI's words, which are read by one grammar
// here. All of these functions but placement_of_map() throw Error(kUsage). Pure.

#include <optional>
#include <string>

#include "plan/pinning/pin_request.h"

namespace dtl {

// Either may be empty, not both. Fills in kind, origin and the fields that belong to them. A map
// that says only where ranks go leaves the kind kDefault.
void parse_bind_and_map(const std::string& bind_to, const std::string& map_by, PinRequest& request);

// What -map-by says about the hosts of ranks. Read with the command line, before any node is known;
// what it cannot read says nothing here, and is refused by parse_bind_and_map().
struct MapPlacement {
  bool round_robin = false;           // node: to one host after the other
  std::optional<int> ranks_per_node;  // ppr:N:node
};
MapPlacement placement_of_map(const std::string& map_by);

// "bind", "interleave" and the like; Hydra's words after a ':' are not looked at.
MemoryPolicy parse_memory_bind(const std::string& text);

}  // namespace dtl
