#pragma once
// The key of the edge between two agents of a tree: HMAC-SHA256 of the relay's key and the number
// of the node that connects to it. The relay can compute the keys of all callers, and a caller
// knows only its own. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace dtl {

inline std::string edge_key(std::string_view relay_key, std::uint32_t node) {
  return hmac_sha256(relay_key, std::to_string(node));
}

}  // namespace dtl
