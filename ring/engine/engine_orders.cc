// An eventfd wakes the sleeper, because the sleeper also waits in epoll for sockets.
#include "ring/engine/engine_orders.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {

EngineOrders::EngineOrders() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.valid()) throw CommError(DT_E_SYS, "cannot create an eventfd", errno_text(errno));
}

// Sequentially consistent with the wheel's moves. A thread that releases the wheel checks for news
// afterwards; a thread that does not get it has left news before. So one of the two sees the other.
void EngineOrders::note_submission() {
  news_.store(true);
}

void EngineOrders::abort(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    orders_.abort = true;
    orders_.why = why;
    has_orders_.store(true);
    news_.store(true);
  }
  wake_sleeper();
}

void EngineOrders::stop() {
  {
    const std::lock_guard lock(mutex_);
    orders_.stop = true;
    has_orders_.store(true);
    news_.store(true);
  }
  wake_sleeper();
}

// Only a sleeping thread needs the system call. The mutex orders this with begin_sleep(): one of
// the two sees what the other wrote, so no news are missed.
void EngineOrders::wake_sleeper() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(sleeping_, false)) return;
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

EngineOrders::Orders EngineOrders::take() {
  // Reads what was written before the news, so the mutex is needed only for orders.
  (void)news_.exchange(false);
  if (!has_orders_.load()) return {};
  const std::lock_guard lock(mutex_);
  has_orders_.store(false);
  return std::exchange(orders_, {});
}

bool EngineOrders::begin_sleep() {
  const std::lock_guard lock(mutex_);
  if (news_.load(std::memory_order_relaxed)) return false;
  sleeping_ = true;
  return true;
}

void EngineOrders::end_sleep() {
  const std::lock_guard lock(mutex_);
  sleeping_ = false;
}

}  // namespace dtl::ring
