#pragma once
// The state of a node's PMIx server: its ranks, the collectives they are in, and what nodes ask
// each other. Pure: upcalls of libpmix and messages go in, effects come out. No clock, no
// descriptors. dtpmix owns it, on its one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/pmix/collectives.h"
#include "agent/pmix/effects.h"
#include "agent/pmix/node_places.h"
#include "agent/pmix/questions.h"
#include "agent/pmix/upcalls.h"
#include "wire/messages.h"

namespace dtl::pmix {

class PmixState {
 public:
  explicit PmixState(const ServePmix& job);
  PmixState(const PmixState&) = delete;
  PmixState& operator=(const PmixState&) = delete;

  const NodePlaces& places() const { return places_; }
  std::vector<Effect> happened(Upcall upcall);
  // From the agent. Throws Error(kVersion) on a message that makes no sense.
  std::vector<Effect> received(Message message);

 private:
  enum class Phase { kUnused, kConnected, kFinalised };
  struct Rank {
    Phase phase = Phase::kUnused;
    bool aborted = false;
    bool ended = false;
    std::set<std::string> said;  // each line once
  };

  std::vector<Effect> connected(std::uint32_t rank);
  std::vector<Effect> aborted(Aborted abort);
  std::vector<Effect> said(Said said);
  std::vector<Effect> exited(const Exited& exit);
  void tell_who_left(std::vector<Effect>& effects);

  const NodePlaces places_;
  std::map<std::uint32_t, Rank> ranks_;  // of this node
  Collectives collectives_;
  Questions questions_;
  std::optional<std::uint32_t> gone_;  // a rank that has exited without MPI_Init
};

}  // namespace dtl::pmix
