#pragma once
// The collectives that ranks of this node wait in. One whose ranks are all here ends at once. Of
// the others, the node's data goes to the launcher, and that of all nodes comes back. Pure.
//
// The launcher tells collectives apart by their ranks alone, so a second one of the same ranks is
// sent after the first has ended. Ranks must call collectives in the same order on all nodes, as
// PMIx demands: nodes notice if they do not.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "agent/pmix/effects.h"
#include "agent/pmix/node_places.h"
#include "agent/pmix/upcalls.h"

namespace dtl::pmix {

// Of one node: what Open MPI puts is a few KiB for each rank.
constexpr std::size_t kMaxCollectiveBytes = 8 << 20;
// Of all that wait for other nodes.
constexpr std::size_t kMaxWaitingBytes = 8 * kMaxCollectiveBytes;

class Collectives {
 public:
  explicit Collectives(const NodePlaces& places) : places_(places) {}

  std::vector<Effect> entered(Entered collective);
  // Throws Error(kVersion) if no rank waits for it.
  std::vector<Effect> fenced(PmixFenced part);
  // All ranks of the job have met: each of them has called MPI_Init.
  bool all_met() const { return all_met_; }

 private:
  using Ranks = std::vector<std::uint32_t>;
  struct Waiting {
    Entered collective;
    std::string joined;  // what has come of all nodes' data
  };

  bool normalise(Ranks& ranks) const;
  std::vector<Effect> refuse(const Entered& collective, std::string why);
  std::uint64_t next_context();
  void send(const Entered& collective, std::vector<Effect>& effects);
  std::vector<Effect> end(const Entered& collective, const std::string& joined);
  EndCollective result_of(const Entered& collective, std::uint64_t context, std::string data) const;

  const NodePlaces& places_;
  std::map<Ranks, std::deque<Waiting>> waiting_;  // the first of each has been sent
  std::size_t waiting_bytes_ = 0;
  std::uint64_t contexts_ = 0;
  bool all_met_ = false;
};

}  // namespace dtl::pmix
