#pragma once
// FirstError: why a communicator has failed: the first error stays, because later ones are mostly
// its consequences. Any thread sets, reads and awaits it. Does not make operations fail:
// OperationQueue::fail does.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "ring/dtring.h"

namespace dtl::ring {

class FirstError {
 public:
  void set(int status, const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      if (is_set()) return;
      text_ = text;
      status_.store(status);
    }
    changed_.notify_all();
  }
  bool is_set() const { return status() != DT_OK; }
  int status() const { return status_.load(); }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  // For dt_comm_abort, which returns when everything has failed.
  void wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set(); });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<int> status_{DT_OK};
  std::string text_;
};

}  // namespace dtl::ring
