#pragma once
// ActiveOperation: an operation in progress: its slot, its schedule, and its deadline for waiting.
// ActiveOperations: all of one rank, in issue order, found by the frames that belong to them.
// Objects and their memory are reused, so later operations allocate nothing. Used by the driving
// thread; knows nothing of links and of how bytes move.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ring/engine/ended_operations.h"
#include "ring/links/link.h"
#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"
#include "ring/queue/operation_slots.h"

namespace dtl::ring {

// The deadlines for waiting: first for a warning, then for the operation (patience.h). Unset until
// somebody reads the clock: short operations end before.
struct OperationTimer {
  std::chrono::steady_clock::time_point deadline{}, warning{};
  bool has_warned = false;
};

struct ActiveOperation {
  OperationSlot* slot = nullptr;
  Schedule schedule;
  Arena scratch;
  OperationTimer timer;

  const Operation& operation() const { return slot->operation; }
};

class ActiveOperations {
 public:
  explicit ActiveOperations(const NodeMap& map) : map_(map) {}

  // Makes the operation's schedule. Throws CommError without memory; then the operation is not
  // active, and its slot is unchanged.
  ActiveOperation& start(OperationSlot& slot);
  OperationSlot* take_finished();  // in any order; no longer active afterwards
  // Of an operation that has ended without being active.
  void note_ended(const Operation& operation) { ended_.add(operation); }

  const std::vector<ActiveOperation*>& all() const { return active_; }
  bool is_empty() const { return active_.empty(); }
  bool has(Lane lane) const { return count_of_[static_cast<std::size_t>(lane)] > 0; }
  bool has_room(Lane lane) const;
  bool has_open_flow(int peer) const;  // bytes from or to it are outstanding
  // The operation that errors name: the oldest active collective; if there is none, the oldest
  // pair; null: nothing is active.
  const Operation* oldest() const;

  // The operation and flow of a frame from or to a peer. null: the operation is not active, because
  // it has ended or has not begun here.
  struct Found {
    ActiveOperation* active = nullptr;
    Flow* flow = nullptr;
  };
  Found find(int peer, const FrameHead& head, bool receives) const;
  // The header of this rank's ended operation with the number of `theirs`: the peer has called
  // another operation, and waits for bytes that never come.
  std::optional<OperationHeader> find_ended(const FrameHead& head,
                                            const OperationHeader* theirs) const {
    return ended_.find(head, theirs);
  }

  std::uint64_t scratch_bytes() const;

 private:
  const NodeMap& map_;
  std::vector<ActiveOperation*> active_;  // in issue order
  std::array<std::size_t, kLanes> count_of_{};
  EndedOperations ended_;
  std::vector<std::unique_ptr<ActiveOperation>> operations_;  // as many as were ever active at once
  std::vector<ActiveOperation*> free_;
};

}  // namespace dtl::ring
