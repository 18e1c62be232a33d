// Notifies waiters after releasing the mutex, so that a woken thread does not block on it.
#include "ring/queue/operation_queue.h"

#include <algorithm>

namespace dtl::ring {
namespace {

// Whether wait_any reports it after a failure, in addition to finished ones.
bool is_unfinished(const OperationSlot& slot) {
  return slot.is_pending() && !slot.operation.request().is_own;
}

}  // namespace

OperationQueue::OperationQueue(int world) : world_(world), numbers_(world) {}

int OperationQueue::submit(const Request& request, const Choice& choice, dt_work* work,
                           OperationSlot** own) {
  const std::lock_guard lock(mutex_);
  if (error_.is_set()) return error_.status();
  // Before taking a number: it may throw, and the other ranks would wait for the lost number.
  OperationSlot& slot = slots_.take_free();
  slot.operation.prepare(request, choice, world_, numbers_.next(request));
  slots_.name(slot);
  *work = slot.work;
  // In a world of one, an operation is complete once submitted, and there is no engine.
  if (world_ == 1) {
    slot.operation.finish_alone();
    slot.state = OperationSlot::State::kDone;
    finished_.add(slot.work);
    finished_.show(false);
    return DT_OK;
  }
  const auto is_empty = [](const auto& queue) { return queue.empty(); };
  if (own != nullptr && std::all_of(submitted_.begin(), submitted_.end(), is_empty)) {
    *own = &slot;
    return DT_OK;
  }
  const auto lane = static_cast<std::size_t>(slot.operation.lane());
  submitted_[lane].push_back(&slot);
  submitted_count_[lane].store(submitted_[lane].size());
  return DT_OK;
}

// Called with the mutex: returns how the operation ended; its id is free again.
int OperationQueue::release(OperationSlot& slot) {
  // Operations that ended before the failure succeeded. Their buffers hold the result.
  const int result = slot.is_pending() ? error_.status() : DT_OK;
  slots_.release(slot);
  finished_.drop_released();
  finished_.show(error_.is_set());
  return result;
}

OperationQueue::Awaited OperationQueue::await(dt_work work) {
  if (const OperationSlot* slot = slots_.slot_of(work)) return {work, slot, &error_};
  const std::lock_guard lock(mutex_);
  return {work, slots_.find(work), &error_};
}

int OperationQueue::wait(dt_work work, int timeout_ms) {
  std::unique_lock lock(mutex_);
  OperationSlot* slot = slots_.find(work);
  if (slot == nullptr) return DT_E_INVAL;
  const auto is_over = [&] { return !slot->is_pending() || error_.is_set(); };
  if (is_over()) return release(*slot);
  // Another thread may have reported it meanwhile, or another operation may use the slot: looks up
  // the slot again.
  waiters_.wait_busily(lock, timeout_ms, is_over,
                       [&] { return slots_.find(work) == nullptr || is_over(); });
  slot = slots_.find(work);
  if (slot == nullptr) return DT_E_INVAL;
  return is_over() ? release(*slot) : DT_PENDING;
}

int OperationQueue::wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max,
                             std::uint32_t* count, int timeout_ms) {
  std::unique_lock lock(mutex_);
  *count = 0;
  waiters_.wait(lock, timeout_ms, [&] { return finished_.has_any() || error_.is_set(); });
  const auto report = [&](OperationSlot& slot) {
    works[*count] = slot.work;
    statuses[(*count)++] = release(slot);
  };
  while (*count < max) {
    OperationSlot* slot = finished_.take();
    if (slot == nullptr) break;
    report(*slot);
  }
  if (error_.is_set()) {
    // A caller that only uses wait_any gets every id back, even after a failure.
    for (OperationSlot& slot : slots_.all()) {
      if (*count < max && is_unfinished(slot)) report(slot);
    }
    if (*count == 0) return error_.status();
  }
  return *count > 0 ? DT_OK : DT_PENDING;
}

int OperationQueue::completion_fd() {
  const std::lock_guard lock(mutex_);
  const int fd = finished_.open();
  has_completion_fd_.store(finished_.is_open());
  finished_.show(error_.is_set());
  return fd;
}

OperationSlot* OperationQueue::take_submitted(Lane lane) {
  const auto index = static_cast<std::size_t>(lane);
  if (submitted_count_[index].load() == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& queue = submitted_[index];
  if (queue.empty()) return nullptr;
  OperationSlot* slot = queue.front();
  queue.pop_front();
  submitted_count_[index].store(queue.size());
  return slot;
}

void OperationQueue::complete(OperationSlot& slot) {
  {
    const std::lock_guard lock(mutex_);
    numbers_.complete(slot.operation);
    if (!slot.operation.request().is_own) finished_.add(slot.work);
    // Release: a caller that spins then reads the results without the mutex.
    slot.state.store(OperationSlot::State::kDone, std::memory_order_release);
    finished_.show(error_.is_set());
  }
  waiters_.notify();
}

void OperationQueue::fail(int status, const std::string& text) {
  {
    const std::lock_guard lock(
        mutex_);  // submit() has queued what it took before, or sees the error
    numbers_.note().end();
    for (auto& queue : submitted_) queue.clear();
    for (auto& count : submitted_count_) count.store(0);
    finished_.show(true);
    error_.set(status, text);  // last: a thread that awaits it finds everything done
  }
  waiters_.notify();
  announcements_.end_waiting();
}

}  // namespace dtl::ring
