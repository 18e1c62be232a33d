#pragma once
// Board: what the callers' threads and the communication thread share. Callers submit operations
// and wait for their ids; the communication thread takes them in order and reports their end.
// Everything is behind one mutex. Slots are reused, so a call allocates only while the number of
// operations in flight is higher than ever before.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/operation.h"

namespace dtl::ring {

class Board {
 public:
  Board(int rank, int world, std::size_t one_shot_bytes);

  // --- callers ---
  int submit(const Request& request, dt_work* work);
  int wait(dt_work work, int timeout_ms);  // 0: only look
  void abort(const std::string& why);      // returns when every operation has failed
  void request_stop();                     // pending operations fail with DT_E_ABORTED
  void wait_until_unused();                // until no thread is inside wait() or abort()
  std::string error_text() const;
  void set_error(int status, const std::string& text);  // the first one stays

  // --- the communication thread ---
  Operation* take_submitted();  // null when there is none
  void complete(Operation& operation);
  void fail(int status, const std::string& text);
  std::uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  bool has_news() const { return news_.load(std::memory_order_acquire); }
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
  enum class State : std::uint8_t { kFree, kPending, kDone };
  struct Slot {
    Operation operation;
    std::uint64_t sequence = 0;
    State state = State::kFree;
  };
  Slot* find(dt_work work);
  Slot& free_slot();
  bool post_news();  // with the mutex; true: wake the thread once it is released
  void wake();
  void spin_until(std::uint64_t sequence) const;

  const int rank_, world_;
  const std::size_t one_shot_bytes_;
  const bool may_spin_;  // another core can do the work meanwhile
  Fd wake_;              // eventfd
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot> slots_;  // a deque, so that operations stay where they are
  std::vector<int> free_;
  std::deque<Operation*> submitted_;
  std::uint64_t next_sequence_ = 1;
  // Operations end in order, so this says of each whether it has; written by the communication
  // thread only.
  std::atomic<std::uint64_t> completed_{0};
  int status_ = DT_OK;
  std::string text_;
  Orders orders_;
  std::atomic<bool> news_{false};
  std::atomic<bool> has_failed_{false};
  bool sleeping_ = false;
  bool stopped_ = false;
  int users_ = 0;
};

}  // namespace dtl::ring
