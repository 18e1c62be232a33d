// One epoll for all sources, so that the Wheel can sleep on a single descriptor without knowing
// them.
#include "ring/engine/engine_events.h"

#include <unistd.h>

#include <cstdint>

namespace dtl::ring {

EngineEvents::EngineEvents(EngineOrders& orders, ShmNode* memory)
    : orders_(orders), memory_(memory) {
  watch_.add(orders_.wake_fd());
  if (memory_ != nullptr) watch_.add(memory_->wake_fd());
  guard_.add({watch_.fd(), orders_.wake_fd()});
}

void EngineEvents::add_line(int fd) {
  watch_.add(fd);
  guard_.add({fd});
}

void EngineEvents::add_stream(TcpLink& link, int fd) {
  watch_.add_stream(link, fd);
  guard_.add({fd});
}

void EngineEvents::set_late(int fd) {
  if (late_fd_ >= 0) watch_.drop(late_fd_);
  late_fd_ = fd;
  if (fd >= 0) watch_.add(fd);
}

int EngineEvents::take(int timeout_ms, const std::function<bool(int fd)>& read_line) {
  return watch_.take(timeout_ms, [&](int fd) {
    if (fd == orders_.wake_fd()) {
      std::uint64_t count = 0;
      // Only resets the descriptor; the orders say what to do.
      (void)!::read(fd, &count, sizeof count);
    } else if (memory_ != nullptr && fd == memory_->wake_fd()) {
      memory_->clear_wake();
    } else if (!read_line(fd)) {
      // The descriptor stays open, so that its number is not reused for another socket. Still
      // watched, it would be readable forever.
      watch_.drop(fd);
    }
  });
}

bool EngineEvents::begin_sleep() {
  if (!orders_.begin_sleep()) return false;
  if (memory_ == nullptr || memory_->begin_sleep()) return true;
  end_sleep();
  return false;
}

void EngineEvents::end_sleep() {
  if (memory_ != nullptr) memory_->end_sleep();
  orders_.end_sleep();
}

}  // namespace dtl::ring
