// An eventfd can wake a poll() on several descriptors. It is written after the lock is released, so
// that the woken thread does not wait for the lock.
#include "launcher/join/room_board.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "base/limits.h"

namespace dtl {

RoomBoard::RoomBoard(std::size_t places)
    : changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      names_(places),
      leaving_(places),
      business_(places) {
  if (!changed_.valid()) throw system_error("cannot make an eventfd");
}

void RoomBoard::changed() {
  std::uint64_t count = 0;
  // Non-blocking: EAGAIN means that nothing has changed.
  [[maybe_unused]] const ssize_t size = ::read(changed_.get(), &count, sizeof count);
}

std::vector<std::string> RoomBoard::names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::string RoomBoard::name(std::size_t place) const {
  const std::lock_guard lock(mutex_);
  return names_[place];
}

void RoomBoard::set_name(std::size_t place, std::string name) {
  {
    const std::lock_guard lock(mutex_);
    names_[place] = std::move(name);
    // The next node has not been told to end.
    leaving_[place] = false;
  }
  tell_of_change();
}

std::vector<bool> RoomBoard::leaving() const {
  const std::lock_guard lock(mutex_);
  return leaving_;
}

void RoomBoard::set_leaving(std::size_t place) {
  {
    const std::lock_guard lock(mutex_);
    leaving_[place] = true;
  }
  tell_of_change();
}

void RoomBoard::tell_of_change() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(changed_.get(), &one, sizeof one);
}

void RoomBoard::set_busy(std::size_t place, bool busy) {
  const std::lock_guard lock(mutex_);
  business_[place].busy = busy;
  // A start and an end are both newer than the loss.
  business_[place].lost.reset();
}

void RoomBoard::note_return(std::size_t place) {
  const std::lock_guard lock(mutex_);
  business_[place] = {};
}

void RoomBoard::note_loss(std::size_t place) {
  const std::lock_guard lock(mutex_);
  Business& business = business_[place];
  if (!business.busy) return;
  business.elsewhere = Clock::now();
  // The first loss counts for this agent: a node that returns and is lost again has started nothing
  // new.
  if (!business.lost) business.lost = business.elsewhere;
}

bool RoomBoard::is_idle(std::size_t place) const {
  const std::lock_guard lock(mutex_);
  const Business& business = business_[place];
  return !business.busy || (business.lost && Clock::now() >= *business.lost + kFence);
}

bool RoomBoard::may_run_elsewhere(std::size_t place) const {
  const std::lock_guard lock(mutex_);
  const Business& business = business_[place];
  return business.elsewhere && Clock::now() < *business.elsewhere + kFence;
}

void RoomBoard::note_all_told() {
  const std::lock_guard lock(mutex_);
  all_told_ = true;
  told_.notify_all();
}

void RoomBoard::wait_until_all_told(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  told_.wait_for(lock, patience, [this] { return all_told_; });
}

}  // namespace dtl
