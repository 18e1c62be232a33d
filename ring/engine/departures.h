#pragma once
// Departures: the ranks that have left in order, and how this rank leaves. Owned by Failures; used
// with the wheel. Knows nothing of lost ranks. A rank that leaves in order announces it twice: to
// rank 0, and at the end of each link, after all its data. So the order of arrival does not matter,
// nor how late this rank reads. On a busy machine, time alone could not distinguish a rank that
// left from a lost one.

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
  bool are_none() const { return all_.empty(); }
  bool has(int rank) const;
  bool add(int rank, std::uint64_t completed);  // false: already known
  // Whether the lines have not been told of it yet: afterwards they count as told.
  bool take_untold(int rank);
  std::vector<Frame> as_news() const;  // a kBye for each

  // An operation that cannot complete because a rank has left. Pairs count only if that rank is the
  // receiver: data that a sender sent may still be in flight.
  struct Obstacle {
    int rank;
    std::string cause;
  };
  // first: how many operations preceded the restart of this rank's numbers (OperationNumbers).
  // Ranks report completed operations counted from the very beginning.
  std::optional<Obstacle> find_obstacle(const ActiveOperations& active, std::uint64_t first,
                                        const RankNames& names) const;

 private:
  struct Departure {
    int rank;
    std::uint64_t completed;
    bool is_told = false;
  };
  std::vector<Departure> all_;
};

// Announces to all ranks how far this one came, so that nobody waits for more or thinks it dead.
// Uses the links only without active operations: a farewell in the middle of a frame would be read
// as payload. Blocks for at most a second. link_fds: the links' connections, which may still have
// data to deliver.
void say_goodbye(int rank, std::uint64_t completed, ControlLines& lines,
                 const std::vector<int>& link_fds, Executor& executor);

}  // namespace dtl::ring
