#pragma once
// OperationQueue: what the callers' threads and the communication thread share. Callers submit
// operations and wait for their ids; the thread that runs the engine takes them in order of each
// lane and reports their end. Everything is behind one mutex. Slots are reused, so a call allocates
// only while the number of operations in flight is higher than ever before.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/engine/operation_slot.h"
#include "ring/engine/state_note.h"

namespace dtl::ring {

class OperationQueue {
 public:
  explicit OperationQueue(int world);

  // --- callers ---
  // Who submits has to see to it that somebody takes it: see Engine::note_submission.
  int submit(const Request& request, const Choice& choice, dt_work* work);
  bool is_settled(dt_work work) const;     // or unknown
  void wake_sleeper();                     // the thread that runs the engine, if it sleeps
  int wait(dt_work work, int timeout_ms);  // 0: only look
  int wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max, std::uint32_t* count,
               int timeout_ms);
  // DT_OK and whose it is, DT_PENDING or the error. from < 0: of any rank.
  int probe(int from, int timeout_ms, int* source, OperationHeader* header);
  bool is_announced(int from) const;  // or it never will be
  int completion_fd();                // negative: a dt_status
  // Orders to the thread that runs the engine: see Engine::recall.
  void request_abort(const std::string& why);
  void request_stop();       // pending operations fail with DT_E_ABORTED
  void wait_until_failed();  // until every operation has
  void set_spin_time(std::chrono::microseconds time) { spin_time_ = time; }
  // While a thread is inside a call that waits.
  class User {
   public:
    explicit User(OperationQueue& queue);
    ~User();
    User(const User&) = delete;
    User& operator=(const User&) = delete;

   private:
    OperationQueue& queue_;
  };
  void wait_until_unused();  // until there is no User
  bool has_completion_fd() const;
  bool has_waiters() const { return waiters_.load() > 0; }  // who rely on another thread
  std::string error_text() const;
  void set_error(int status, const std::string& text);  // the first one stays
  void restart_numbers();  // while nothing is pending: the next operation is the first one
  StateNote& state() { return state_; }  // for who makes it seen, and who drives

  // --- who runs the engine ---
  OperationSlot* take_submitted(Lane lane);  // null when there is none
  void complete(OperationSlot& slot);
  void fail(int status, const std::string& text);
  // The oldest message of a rank that no receiver was called for; none: it has one now.
  void announce(int from, const std::optional<OperationHeader>& header);
  // Operations of all ranks that are complete, from the first one on without a gap.
  std::uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  // How many there were before restart_numbers().
  std::uint64_t first_number() const { return first_number_.load(std::memory_order_relaxed); }
  bool has_news() const { return news_.load(); }
  struct Orders {
    bool stop = false, abort = false;
    std::string why;
  };
  Orders take_orders();  // clears has_news(), so look for submitted operations next
  // False when something was submitted or ordered meanwhile: then do not sleep.
  bool begin_sleep();
  void end_sleep();
  int wake_fd() const { return wake_.get(); }

 private:
  using Slot = OperationSlot;
  using State = OperationSlot::State;
  Slot* find(dt_work work);
  using Announced = std::map<int, OperationHeader>;  // by rank
  Announced::const_iterator announced(int from) const;
  const Slot* find(dt_work work) const { return const_cast<OperationQueue*>(this)->find(work); }
  Slot& free_slot();
  bool is_over(const Slot& slot) const { return slot.state != State::kPending || status_ != DT_OK; }
  int release(Slot& slot);
  std::uint64_t next_sequence(const Request& request);
  static bool is_pending(const Slot& slot);
  bool has_any() const;
  void drop_released();
  void show_any();
  void post_news();  // with the mutex; wake_sleeper() next
  void spin(const Slot& slot) const;

  const int world_;
  StateNote state_;
  // How long a caller that waits looks before it sleeps.
  std::atomic<std::chrono::microseconds> spin_time_{std::chrono::microseconds(0)};
  Fd wake_;  // eventfd
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot> slots_;  // a deque, so that operations stay where they are
  std::vector<int> free_;
  std::array<std::deque<Slot*>, kLanes> submitted_;
  std::uint64_t next_number_ = 1, next_collective_ = 1;
  std::vector<std::uint64_t> sent_to_, received_from_;  // of each peer, sends and receives so far
  std::atomic<std::uint64_t> completed_{0}, first_number_{0};
  std::vector<std::uint64_t> completed_early_;  // behind a gap
  Announced announced_;
  std::deque<dt_work> finished_;  // for wait_any; released ones may be among them
  Fd completion_;                 // eventfd, readable while wait_any has something
  bool completion_is_set_ = false;
  int status_ = DT_OK;
  std::string text_;
  Orders orders_;
  std::atomic<bool> news_{false};
  std::atomic<bool> has_failed_{false};
  bool sleeping_ = false;
  bool stopped_ = false;
  int users_ = 0;
  std::atomic<int> waiters_{0};
};

}  // namespace dtl::ring
