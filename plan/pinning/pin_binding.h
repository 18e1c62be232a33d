#pragma once
// -bind-to, -map-by and -membind in Hydra's and Open MPI's words. Pure.

#include <optional>
#include <string>

#include "plan/pinning/pin_request.h"

namespace dtl {

// Either may be empty, not both. Fills in kind, origin and what belongs to them.
void parse_bind_and_map(const std::string& bind_to, const std::string& map_by, PinRequest& request);

// What -map-by says about the hosts of ranks.
struct MapPlacement {
  bool round_robin = false;           // node: to one host after the other
  std::optional<int> ranks_per_node;  // ppr:N:node
};
MapPlacement placement_of_map(const std::string& map_by);

MemoryPolicy parse_memory_bind(const std::string& text);

}  // namespace dtl
