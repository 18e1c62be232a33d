#pragma once
// Departures: the ranks that have left in order, and how this one does. Owned by Failures; used
// with the wheel. Knows nothing of ranks that were lost.
//
// A rank that leaves in order says so twice: to rank 0, and at the end of each link, behind
// everything that it has sent. So it does not matter which of these is heard first, nor how late
// this rank is in reading. Time alone could not tell a rank that has left from a lost one on a busy
// machine.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ring/engine/active_operations.h"
#include "ring/engine/executor.h"
#include "ring/meeting/control_lines.h"
#include "ring/meeting/rank_names.h"

namespace dtl::ring {

class Departures {
 public:
  bool has(int rank) const;
  bool add(int rank, std::uint64_t completed);  // false: it was known

  // An operation that cannot complete because a rank that has left will never take part in it.
  // Pairs count only if the rank is the receiver: what a sender has sent may still be on its way.
  struct Obstacle {
    int rank;
    std::string cause;
  };
  // first: how many operations there were before this rank's numbers began anew (OperationNumbers).
  // Ranks say how many they have completed from the very beginning.
  std::optional<Obstacle> find_obstacle(const ActiveOperations& active, std::uint64_t first,
                                        const RankNames& names) const;

 private:
  struct Departure {
    int rank;
    std::uint64_t completed;
  };
  std::vector<Departure> all_;
};

// Tells everybody how far this rank came, so that nobody waits for more and nobody thinks it dead.
// Over the links it does so only without active operations: a farewell in the middle of a frame
// would be taken for payload. Blocks for at most a second. link_fds: the links' connections, which
// may still have to deliver what was sent.
void say_goodbye(int rank, std::uint64_t completed, ControlLines& lines,
                 const std::vector<int>& link_fds, Executor& executor);

}  // namespace dtl::ring
