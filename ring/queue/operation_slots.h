#pragma once
// OperationSlot: an operation's slot from its submission until its end is reported; OperationSlots:
// all slots of one communicator, found by work ids. Slots are reused, so a submission allocates
// only if more operations are in flight than ever before. Knows nothing of threads: the
// OperationQueue owns the slots, and work and state change with its mutex. A slot is free only
// after its end was reported: until then its id means this operation.

#include <array>
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
  std::atomic<dt_work> work{0};  // spinning callers read both without the mutex
  std::atomic<State> state{State::kFree};

  bool is_pending() const { return state.load(std::memory_order_acquire) == State::kPending; }
};

class OperationSlots {
 public:
  // A free slot, to prepare and name next. Throws CommError if too many are in use.
  OperationSlot& take_free();
  void name(OperationSlot& slot);  // gives it a new, unique work id
  void release(OperationSlot& slot);
  OperationSlot* find(dt_work work);  // null: unknown, or released
  // The slot that this id names, without the queue's mutex. It may have another id by now. Null:
  // find() must look.
  const OperationSlot* slot_of(dt_work work) const;
  std::deque<OperationSlot>& all() { return slots_; }

 private:
  std::deque<OperationSlot> slots_;  // a deque, so that operations never move
  static constexpr std::size_t kEarly = 64;
  std::array<std::atomic<OperationSlot*>, kEarly> early_{};  // the first ones, for slot_of()
  std::vector<int> free_;
  std::uint64_t next_number_ = 1;
};

}  // namespace dtl::ring
