#pragma once
// OperationSlot: an operation's place from its submission until its end is reported;
// OperationSlots: all places of one communicator, found by their work ids. Places are reused, so a
// submission allocates only while more operations are in flight than ever before. Knows nothing of
// threads: the OperationQueue owns the slots, and work and state change with its mutex.
//
// A place is free only when its end was reported, not when the operation has ended: until then its
// id means this operation.

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "ring/operation/operation.h"

namespace dtl::ring {

struct OperationSlot {
  enum class State : std::uint8_t { kFree, kPending, kDone };

  Operation operation;
  int index = 0;
  dt_work work = 0;
  std::atomic<State> state{State::kFree};  // callers that spin read it without the mutex

  bool is_pending() const { return state.load(std::memory_order_acquire) == State::kPending; }
};

class OperationSlots {
 public:
  // A free slot, to be prepared and named next. Throws CommError where too many are in use.
  OperationSlot& take_free();
  void name(OperationSlot& slot);  // gives it a work id that no other operation has had
  void release(OperationSlot& slot);
  OperationSlot* find(dt_work work);  // null: unknown, or released
  std::deque<OperationSlot>& all() { return slots_; }

 private:
  std::deque<OperationSlot> slots_;  // a deque, so that operations stay where they are
  std::vector<int> free_;
  std::uint64_t next_number_ = 1;
};

}  // namespace dtl::ring
