// Who runs the engine, and when it sleeps.
#include <algorithm>
#include <thread>

#include "ring/engine/engine.h"

namespace dtl::ring {
namespace {

// Looks at the sockets that cost about 1 us each and often save the 10 us of a sleep; more would
// take the core away from ranks that compute.
constexpr int kPolls = 20;
// Looks at shared memory between two at the sockets; fewer where other ranks want this core.
constexpr int kLooksPerCall = 24, kLooksIfCrowded = 4;

int ms_until(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000000));
}

}  // namespace

// The thread, which has the wheel to begin with.
void Engine::run() {
  while (!stops_) {
    const bool moved = turn();
    if (!moved && !stops_ && !poll_a_little()) sleep_without_wheel();
    look_at_time();
  }
  leave();
}

// By a caller.
bool Engine::take_wheel() {
  const auto before = wheel_.take();
  if (before == WheelState::kAsleep) end_sleep();
  return before.has_value();
}

// What another caller submitted meanwhile it has left to this one.
void Engine::leave_wheel(WheelEvent how) {
  wheel_.leave(how);
  if (orders_.has_news()) wheel_.recall();
}

void Engine::note_submission(bool is_urgent) {
  orders_.note_submission();
  if (!is_urgent && take_wheel()) {
    (void)turn();
    return leave_wheel(has_work() ? WheelEvent::kLeaveActive : WheelEvent::kLeaveIdle);
  }
  orders_.wake_sleeper();
  if (is_urgent) recall();
}

void Engine::drive(dt_work work, Clock::time_point deadline) {
  drive_until([&] { return queue_.is_settled(work); }, deadline);
}

void Engine::drive_to_announcement(int from, Clock::time_point deadline) {
  drive_until([&] { return queue_.announcements().is_settled(from); }, deadline);
}

template <class IsOver>
void Engine::drive_until(const IsOver& is_over, Clock::time_point deadline) {
  if (!take_wheel()) return;
  for (bool is_late = false; !stops_ && !is_over() && !is_late;) {
    is_late = Clock::now() >= deadline;
    if (turn() || is_over()) continue;
    if (is_late) {
      if (take_events(0) > 0) (void)turn();
    } else if (!poll_a_little()) {
      sleep_until(deadline);
    }
    look_at_time();
  }
  leave_wheel(how_to_leave());
}

// The thread must not sleep on over an operation that nobody waits for.
WheelEvent Engine::how_to_leave() const {
  if (stops_ || failures_.has_failed()) return WheelEvent::kHandOver;
  if (!has_work()) return WheelEvent::kLeaveIdle;
  const bool is_long = executor_.active().has(Lane::kBulk);
  const bool has_waiters = queue_.waiters().any() || queue_.announcements().has_waiters();
  return is_long || has_waiters ? WheelEvent::kHandOver : WheelEvent::kLeaveActive;
}

// True when something happened.
bool Engine::poll_a_little() {
  if (failures_.has_failed() || executor_.active().is_empty()) return false;
  const auto begin = Clock::now(), end = begin + lookout_.spin();
  const bool is_hurried =
      executor_.active().has(Lane::kSmall) || executor_.active().has(Lane::kPair);
  if (lookout_.is_in_vain(begin, is_hurried)) return orders_.has_news() || take_events(0) > 0;
  const int looks = lookout_.spin().count() > 0 ? kLooksPerCall : kLooksIfCrowded;
  for (int i = 1;; ++i) {
    if (orders_.has_news()) return true;
    if (memory_ != nullptr && (executor_.step() || executor_.findings().has_any())) return true;
    const bool yields = i % (memory_ == nullptr ? kLooksIfCrowded : looks) == 0;
    if ((memory_ == nullptr || yields) && take_events(0) > 0) return true;
    if (!yields) continue;
    if (i >= kPolls && Clock::now() >= end) return false;
    std::this_thread::yield();  // whom this core is wanted for: the caller, or another rank
  }
}

// False when there are news.
bool Engine::begin_sleep() {
  if (!orders_.begin_sleep()) return false;
  if (memory_ == nullptr || memory_->begin_sleep()) return true;
  end_sleep();
  return false;
}

void Engine::end_sleep() {
  if (memory_ != nullptr) memory_->end_sleep();
  orders_.end_sleep();
}

// -1: until something happens.
int Engine::time_to_sleep_ms() const {
  if (failures_.has_failed()) return -1;
  const auto deadline = std::min(failures_.next_deadline(), patience_.next_deadline());
  return deadline == Clock::time_point::max() ? -1 : ms_until(deadline);
}

// A caller, who keeps the wheel.
void Engine::sleep_until(Clock::time_point deadline) {
  int timeout_ms = time_to_sleep_ms();
  if (deadline != Clock::time_point::max()) {
    const int own_ms = ms_until(deadline);
    timeout_ms = timeout_ms < 0 ? own_ms : std::min(timeout_ms, own_ms);
  }
  if (!begin_sleep()) return;
  take_events(timeout_ms);
  end_sleep();
}

// The thread, which leaves the wheel to whoever wants it. It does not take events before it has the
// wheel again: each is told once only.
void Engine::sleep_without_wheel() {
  const int timeout_ms = time_to_sleep_ms();
  if (!begin_sleep()) return;
  wheel_.sleep(watch_.fd(), timeout_ms);
  end_sleep();
  take_events(0);
}

}  // namespace dtl::ring
