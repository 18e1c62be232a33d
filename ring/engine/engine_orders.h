#pragma once
// EngineOrders: what callers' threads tell the thread that runs the engine: that there is something
// to take, or that it has to abort or stop; and what wakes it. Whoever drives looks at one atomic
// in each turn, and takes the mutex only if that is set. Owned by the Engine. Does not hold the
// operations themselves: the OperationQueue does.

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
  // Wakes nobody: see wake_sleeper().
  void note_submission();
  void abort(const std::string& why);
  void stop();
  void wake_sleeper();  // the thread that runs the engine, if it sleeps

  // --- who runs the engine ---
  bool has_news() const { return news_.load(); }
  // Clears has_news(), so look for submitted operations afterwards: what is submitted after this
  // call sets it again.
  Orders take();
  // False when there are news: then do not sleep.
  bool begin_sleep();
  void end_sleep();
  int wake_fd() const { return wake_.get(); }

 private:
  Fd wake_;  // eventfd
  std::atomic<bool> news_{false};
  std::mutex mutex_;
  Orders orders_;
  bool sleeping_ = false;
};

}  // namespace dtl::ring
