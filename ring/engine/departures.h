#pragma once
// Departures: the ranks that have left in order, and how this one does. Owned by Failures; used
// with the wheel. Knows nothing of ranks that were lost.
//
// Who leaves in order says so twice: to rank 0, and at the end of each link, behind everything that
// it has sent. So it does not matter which of these is heard first, nor how late this rank is in
// reading.

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

  // An operation that a rank will never take part in cannot complete.
  struct Obstacle {
    int rank;
    std::string cause;
  };
  // first: the number of the first operation here.
  std::optional<Obstacle> find_obstacle(const ActiveOperations& active, std::uint64_t first,
                                        const RankNames& names) const;

 private:
  struct Departure {
    int rank;
    std::uint64_t completed;
  };
  std::vector<Departure> all_;
};

// Tells everybody how far this rank came, so that nobody waits for more and nobody thinks it dead;
// over the links, too, unless it leaves amid an operation. link_fds: the links' connections, which
// may still have to deliver what was sent.
void say_goodbye(int rank, std::uint64_t completed, ControlLines& lines,
                 const std::vector<int>& link_fds, Executor& executor);

}  // namespace dtl::ring
