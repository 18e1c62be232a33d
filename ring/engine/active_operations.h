#pragma once
// ActiveOperation: an operation while it moves: where it came from, what has been laid out for it,
// and until when others are waited for. ActiveOperations: all of one rank, in issue order, found by
// the frames that belong to them. Objects are reused, so that later operations find their memory
// there and allocate nothing. Used by whoever drives the engine; knows nothing of links and of how
// bytes move.

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

// When patience with other ranks ends: first a warning, then the operation (patience.h).
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

  // Lays out how its bytes move. Throws CommError where there is no memory; then the operation is
  // not active, and its slot is as it was.
  ActiveOperation& start(OperationSlot& slot);
  OperationSlot* take_finished();  // in any order; no longer active then

  const std::vector<ActiveOperation*>& all() const { return active_; }
  bool is_empty() const { return active_.empty(); }
  bool has(Lane lane) const { return count_of_[static_cast<std::size_t>(lane)] > 0; }
  bool has_room(Lane lane) const;
  bool has_open_flow(int peer) const;  // bytes from or to it are still to move
  // The one that has been active for longest, of those that all ranks take part in: the one that
  // errors name. A pair, where there is no other; null: nothing is active.
  const Operation* oldest() const;

  // Which operation a frame to or from a peer belongs to, and its flow there. null: to none that is
  // active, because it has ended or has not begun here.
  struct Found {
    ActiveOperation* active = nullptr;
    Flow* flow = nullptr;
  };
  Found find(int peer, const FrameHead& head, bool receives) const;
  // What was called here, when it has ended already, in place of `theirs`: then the peer has called
  // something else, and waits for bytes that never come.
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
  std::vector<std::unique_ptr<ActiveOperation>> operations_;  // as many as were ever active
  std::vector<ActiveOperation*> free_;
};

}  // namespace dtl::ring
