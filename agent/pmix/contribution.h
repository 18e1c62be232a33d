#pragma once
// What a node puts into a collective, as the data of its PmixFence messages. The launcher joins the
// bytes of all nodes without reading them, and each node takes them apart again. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/pmix/upcalls.h"

namespace dtl::pmix {

struct Contribution {
  Collective collective = Collective::kFence;
  std::uint32_t node = 0;
  std::uint64_t context = 0;  // what this node proposes as the group's number
  std::string name;           // of a group
  std::string data;           // libpmix's own
};

std::string to_bytes(const Contribution& contribution);
// Those of all nodes, one after the other; nullopt if these bytes are anything else.
std::optional<std::vector<Contribution>> read_contributions(std::string_view bytes);

}  // namespace dtl::pmix
