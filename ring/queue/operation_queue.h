#pragma once
// OperationQueue: the operations that callers share with the driving thread. Callers submit them
// and wait for their ids; the driving thread takes them in order of each lane and reports their
// end. One mutex guards them, never held while bytes move. Does not know how the driving thread is
// notified (EngineOrders), nor how an operation is executed.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "ring/queue/announcements.h"
#include "ring/queue/finished_work.h"
#include "ring/queue/first_error.h"
#include "ring/queue/operation_numbers.h"
#include "ring/queue/operation_slots.h"
#include "ring/queue/waiters.h"

namespace dtl::ring {

class OperationQueue {
 public:
  explicit OperationQueue(int world);

  // Returns a dt_status; enqueues only with DT_OK. Throws CommError if too many operations were
  // never waited for. The caller must make sure that a thread takes it: see
  // Engine::submit.
  //
  // own: of a caller with the wheel that would execute the operation itself. If nothing else is
  // queued, *own becomes the slot, which is not queued: complete() is up to the caller.
  int submit(const Request& request, const Choice& choice, dt_work* work,
             OperationSlot** own = nullptr);
  // Whether an operation has ended, is unknown or can never succeed: asked often, without the
  // mutex.
  struct Awaited {
    dt_work work = 0;
    const OperationSlot* slot = nullptr;
    const FirstError* error = nullptr;
    bool is_settled() const {
      return slot == nullptr || slot->work.load(std::memory_order_relaxed) != work ||
             !slot->is_pending() || error->is_set();
    }
  };
  Awaited await(dt_work work);
  // Returns how the operation ended, and frees its id; or DT_PENDING. timeout_ms: 0: only check;
  // negative: no limit. DT_E_INVAL: the id is unknown.
  int wait(dt_work work, int timeout_ms);
  int wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max, std::uint32_t* count,
               int timeout_ms);
  int completion_fd();  // negative: a dt_status
  bool has_completion_fd() const { return has_completion_fd_.load(); }

  // --- the driving thread ---
  OperationSlot* take_submitted(Lane lane);  // null: none
  void complete(OperationSlot& slot);
  void fail(int status, const std::string& text);  // all operations, including future ones

  // What goes with the operations, each usable by itself.
  FirstError& error() { return error_; }
  OperationNumbers& numbers() { return numbers_; }
  Announcements& announcements() { return announcements_; }
  Waiters& waiters() { return waiters_; }

 private:
  int release(OperationSlot& slot);

  const int world_;
  FirstError error_;
  OperationNumbers numbers_;
  Announcements announcements_{error_};
  std::mutex mutex_;
  Waiters waiters_;
  OperationSlots slots_;
  std::array<std::deque<OperationSlot*>, kLanes> submitted_;
  // How many each has: the driving thread looks at them often, and mostly all are empty.
  std::array<std::atomic<std::size_t>, kLanes> submitted_count_{};
  FinishedWork finished_{slots_};
  std::atomic<bool> has_completion_fd_{false};  // each submission asks, without the mutex
};

}  // namespace dtl::ring
