#pragma once
// CallerCount: how many threads are inside a waiting call, so that a communicator is not destroyed
// under them. Another thread may call dt_comm_destroy while they wait. Owned by the Comm's
// OperationCalls. Does not know what they wait for: the destroyer must first end their waiting.

#include <atomic>
#include <chrono>
#include <thread>

namespace dtl::ring {

class CallerCount {
 public:
  // Exists while a thread is inside such a call.
  class Guard {
   public:
    explicit Guard(CallerCount& count) : count_(count) { count_.callers_.fetch_add(1); }
    // Nothing after it: the object may be gone.
    ~Guard() { count_.callers_.fetch_sub(1); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    CallerCount& count_;
  };

  // Looks again and again: it is called once, and callers should not pay for telling.
  void wait_until_none() const {
    constexpr auto kPause = std::chrono::microseconds(100);
    while (callers_.load() > 0) std::this_thread::sleep_for(kPause);
  }

 private:
  std::atomic<int> callers_{0};
};

}  // namespace dtl::ring
