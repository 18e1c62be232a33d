// The vector of active operations is short (kRoom), so it is searched from its beginning: most
// frames belong to the oldest operation.
#include "ring/engine/active_operations.h"

#include <algorithm>

#include "ring/links/shm_segment.h"
#include "ring/operation/scheduler.h"

namespace dtl::ring {
namespace {

// How many operations of a lane are active at once. Two long ones, so that the first bytes of the
// next are sent while the last bytes of one arrive; more would share the same bandwidth. A pair may
// wait for its peer's call without limit, so many are allowed.
constexpr std::array<std::size_t, kLanes> kRoom{8, 2, 4096};
static_assert(2 * kRoom[0] <= kBoardEntries);  // see ShmBoard

}  // namespace

bool ActiveOperations::has_room(Lane lane) const {
  const auto index = static_cast<std::size_t>(lane);
  return count_of_[index] < kRoom[index];
}

ActiveOperation& ActiveOperations::start(OperationSlot& slot) {
  if (free_.empty()) {
    operations_.push_back(std::make_unique<ActiveOperation>());
    free_.push_back(operations_.back().get());
  }
  ActiveOperation& active = *free_.back();
  active.slot = &slot;
  Scheduler(slot.operation, map_, active.scratch, active.schedule).plan();
  free_.pop_back();  // last: if anything before throws, nothing has changed
  active_.push_back(&active);
  ++count_of_[static_cast<std::size_t>(slot.operation.lane())];
  return active;
}

OperationSlot* ActiveOperations::take_finished() {
  const auto at = std::find_if(active_.begin(), active_.end(), [](const ActiveOperation* active) {
    return active->schedule.is_done();
  });
  if (at == active_.end()) return nullptr;
  ActiveOperation& finished = **at;
  active_.erase(at);
  --count_of_[static_cast<std::size_t>(finished.operation().lane())];
  ended_.add(finished.operation());
  finished.schedule.clear();
  finished.scratch.reset();
  free_.push_back(&finished);
  return finished.slot;
}

bool ActiveOperations::has_open_flow(int peer) const {
  return std::any_of(active_.begin(), active_.end(), [peer](ActiveOperation* active) {
    const Flow* flow = active->schedule.find_flow(peer);
    return flow != nullptr && !(flow->is_received() && flow->is_sent());
  });
}

const Operation* ActiveOperations::oldest() const {
  for (const ActiveOperation* active : active_) {
    if (active->operation().lane() != Lane::kPair) return &active->operation();
  }
  return active_.empty() ? nullptr : &active_.front()->operation();
}

ActiveOperations::Found ActiveOperations::find(int peer, const FrameHead& head,
                                               bool receives) const {
  const bool is_pair = head.lane == static_cast<std::uint8_t>(Lane::kPair);
  for (ActiveOperation* active : active_) {
    const Operation& operation = active->operation();
    // Heads have the low 32 bits of the number. Active operations are never that far apart.
    if (static_cast<std::uint32_t>(operation.sequence()) != head.sequence) continue;
    if (is_pair != (operation.lane() == Lane::kPair)) continue;
    // Each direction of a pair has separate numbers.
    if (is_pair &&
        (operation.request().is_receive != receives || operation.request().root != peer)) {
      continue;
    }
    return {active, active->schedule.find_flow(peer)};
  }
  return {};
}

std::uint64_t ActiveOperations::scratch_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& operation : operations_) sum += operation->scratch.bytes();
  return sum;
}

}  // namespace dtl::ring
