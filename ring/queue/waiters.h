#pragma once
// Waiters: callers' threads that wait for a change of something guarded by a mutex, and their
// number: they rely on another thread to drive the engine, so a thread that stops driving checks
// it. The user of Waiters owns the mutex and the state.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace dtl::ring {

class Waiters {
 public:
  // How long wait_busily() polls before it sleeps.
  void set_spin_time(std::chrono::microseconds time) { spin_time_ = time; }

  // Waits until is_over() or the timeout; negative: no limit, 0: only checks. `lock` holds the
  // mutex, and is_over() is called with it.
  template <typename IsOver>
  void wait(std::unique_lock<std::mutex>& lock, int timeout_ms, const IsOver& is_over) {
    ++count_;
    sleep(lock, timeout_ms, is_over);
    --count_;
  }
  // First polls for a while without the mutex, which has_changed() must not need: waking takes
  // longer than a short operation.
  template <typename HasChanged, typename IsOver>
  void wait_busily(std::unique_lock<std::mutex>& lock, int timeout_ms,
                   const HasChanged& has_changed, const IsOver& is_over) {
    ++count_;
    if (spin_time_.load().count() > 0 && timeout_ms != 0 && !is_over()) {
      lock.unlock();
      spin(has_changed);
      lock.lock();
    }
    sleep(lock, timeout_ms, is_over);
    --count_;
  }

  // Call it after the change was made with the mutex, preferably without holding it.
  void notify() { changed_.notify_all(); }
  bool any() const { return count_.load() > 0; }

 private:
  template <typename IsOver>
  void sleep(std::unique_lock<std::mutex>& lock, int timeout_ms, const IsOver& is_over) {
    if (timeout_ms < 0) {
      changed_.wait(lock, is_over);
    } else if (timeout_ms > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_over);
    }
  }

  template <typename HasChanged>
  void spin(const HasChanged& has_changed) const {
    constexpr int kPauses = 8;  // between two polls, so that they do not slow the other core
    const auto end = std::chrono::steady_clock::now() + spin_time_.load();
    while (!has_changed() && std::chrono::steady_clock::now() < end) {
      for (int i = 0; i < kPauses; ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
      }
      std::this_thread::yield();  // the communication thread may be on this core
    }
  }

  std::condition_variable changed_;
  std::atomic<int> count_{0};
  std::atomic<std::chrono::microseconds> spin_time_{std::chrono::microseconds(0)};
};

}  // namespace dtl::ring
