// Ids are never reused, so an id that was already reported differs from that of the operation in
// its slot now.
#include "ring/queue/operation_slots.h"

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

// A work id is the operation's number in order of submission, with its slot in the low bits:
// finding it needs no search. Numbers begin at 1, so no id is 0.
constexpr unsigned kSlotBits = 20;
constexpr std::size_t kMaxSlots = (1u << kSlotBits) - 1;

}  // namespace

OperationSlot& OperationSlots::take_free() {
  if (free_.empty()) {
    if (slots_.size() >= kMaxSlots) {
      throw CommError(DT_E_NOMEM, "cannot take another operation",
                      "too many were never waited for");
    }
    const auto index = static_cast<int>(slots_.size());
    slots_.emplace_back().index = index;
    if (slots_.size() <= kEarly) early_[slots_.size() - 1].store(&slots_.back());
    free_.push_back(index);
  }
  OperationSlot& slot = slots_[static_cast<std::size_t>(free_.back())];
  free_.pop_back();
  return slot;
}

// The mutex orders all but what spinning callers read: release suffices, and costs no full fence.
void OperationSlots::name(OperationSlot& slot) {
  slot.work.store(next_number_++ << kSlotBits | static_cast<std::uint64_t>(slot.index),
                  std::memory_order_relaxed);
  slot.state.store(OperationSlot::State::kPending, std::memory_order_release);
}

void OperationSlots::release(OperationSlot& slot) {
  slot.state.store(OperationSlot::State::kFree, std::memory_order_release);
  free_.push_back(slot.index);
}

const OperationSlot* OperationSlots::slot_of(dt_work work) const {
  const std::size_t index = work & kMaxSlots;
  return index < kEarly ? early_[index].load() : nullptr;
}

OperationSlot* OperationSlots::find(dt_work work) {
  const std::size_t index = work & kMaxSlots;
  if (index >= slots_.size()) return nullptr;
  OperationSlot& slot = slots_[index];
  return slot.state != OperationSlot::State::kFree && slot.work == work ? &slot : nullptr;
}

}  // namespace dtl::ring
