#pragma once
// CallerCount: how many threads are inside a waiting call, so that a communicator is not destroyed
// under them. Another thread may call dt_comm_destroy while they wait. Owned by the Comm's
// OperationCalls. Does not know what they wait for: the destroyer must first end their waiting.

#include <condition_variable>
#include <mutex>

namespace dtl::ring {

class CallerCount {
 public:
  // Exists while a thread is inside such a call.
  class Guard {
   public:
    explicit Guard(CallerCount& count) : count_(count) {
      const std::lock_guard lock(count_.mutex_);
      ++count_.callers_;
    }
    ~Guard() {
      const std::lock_guard lock(count_.mutex_);
      // Notifies under the mutex: the waiter destroys this object as soon as it wakes.
      if (--count_.callers_ == 0 && count_.is_awaited_) count_.changed_.notify_all();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    CallerCount& count_;
  };

  void wait_until_none() {
    std::unique_lock lock(mutex_);
    is_awaited_ = true;
    changed_.wait(lock, [this] { return callers_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int callers_ = 0;
  bool is_awaited_ = false;
};

}  // namespace dtl::ring
