// A map by rank, so that "from any rank" always finds the lowest one.
#include "ring/queue/announcements.h"

namespace dtl::ring {

Announcements::OldestOfRank::const_iterator Announcements::find(int from) const {
  return from < 0 ? oldest_.begin() : oldest_.find(from);
}

bool Announcements::is_settled(int from) const {
  const std::lock_guard lock(mutex_);
  return error_.is_set() || find(from) != oldest_.end();
}

int Announcements::probe(int from, int timeout_ms, int* source, OperationHeader* header) {
  std::unique_lock lock(mutex_);
  waiters_.wait(lock, timeout_ms, [&] { return error_.is_set() || find(from) != oldest_.end(); });
  if (error_.is_set()) return error_.status();
  const auto found = find(from);
  if (found == oldest_.end()) return DT_PENDING;
  *source = found->first;
  *header = found->second;
  return DT_OK;
}

void Announcements::set(int from, const std::optional<OperationHeader>& header) {
  const std::lock_guard lock(mutex_);
  if (header) {
    oldest_[from] = *header;
    waiters_.notify();
  } else {
    oldest_.erase(from);
  }
}

// Takes the mutex once: a caller has either seen the error or is already asleep.
void Announcements::end_waiting() {
  const std::lock_guard lock(mutex_);
  waiters_.notify();
}

}  // namespace dtl::ring
