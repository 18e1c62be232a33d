#pragma once
// EngineOrders: messages from callers' threads to the driving thread: that there is something to
// take, or that it must abort or stop; and the means to wake it. The driving thread reads one
// atomic per turn, and takes the mutex only for orders. Owned by the Engine. The OperationQueue
// holds the operations themselves.

#include <atomic>
#include <mutex>
#include <string>

#include "base/fd.h"

namespace dtl::ring {

class EngineOrders {
 public:
  EngineOrders();  // throws CommError

  struct Orders {
    bool stop = false, abort = false;
    std::string why;
  };

  // --- callers ---
  // Wakes no thread: see wake_sleeper().
  void note_submission();
  void abort(const std::string& why);
  void stop();
  void wake_sleeper();  // the driving thread, if it sleeps

  // --- the driving thread ---
  bool has_news() const { return news_.load(); }
  // Clears has_news(), so look for submitted operations afterwards: later submissions set it again.
  Orders take();
  // False if there are news: then do not sleep.
  bool begin_sleep();
  void end_sleep();
  int wake_fd() const { return wake_.get(); }

 private:
  Fd wake_;  // eventfd
  std::atomic<bool> news_{false}, has_orders_{false};
  std::mutex mutex_;
  Orders orders_;
  bool sleeping_ = false;
};

}  // namespace dtl::ring
