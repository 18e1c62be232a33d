#pragma once
// RankNames: how messages name the ranks of a communicator: "rank 3 (node02)". The host is what a
// person needs to look further.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ring/meeting/peer_info.h"

namespace dtl::ring {

class RankNames {
 public:
  explicit RankNames(std::vector<std::string> hosts) : hosts_(std::move(hosts)) {}

  std::string of(int rank) const { return rank_name(rank, hosts_[static_cast<std::size_t>(rank)]); }
  bool has(int rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < hosts_.size(); }

 private:
  std::vector<std::string> hosts_;  // by rank
};

}  // namespace dtl::ring
