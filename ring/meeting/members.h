#pragma once
// Members: the ranks of a meeting, as far as this one knows them yet: before the table has come, a
// rank other than 0 knows itself only. Knows nothing of how they are reached.

#include <cstddef>
#include <string>
#include <vector>

#include "ring/meeting/handshake.h"
#include "ring/meeting/peer_info.h"

namespace dtl::ring {

struct Members {
  explicit Members(const Identity& self)
      : identity(self), infos(static_cast<std::size_t>(self.world)) {}

  bool leads() const { return identity.rank == 0; }
  PeerInfo& own() { return infos[static_cast<std::size_t>(identity.rank)]; }
  const PeerInfo& of(int rank) const { return infos[static_cast<std::size_t>(rank)]; }
  std::string name(int rank) const { return rank_name(rank, of(rank).host); }
  // Those of which something has not been heard yet.
  static std::vector<int> without(const std::vector<bool>& heard) {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < heard.size(); ++i) {
      if (!heard[i]) ranks.push_back(static_cast<int>(i));
    }
    return ranks;
  }

  const Identity& identity;
  std::vector<PeerInfo> infos;  // by rank
};

}  // namespace dtl::ring
