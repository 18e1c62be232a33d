// Who runs the engine, and when it sleeps.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <thread>
#include <utility>

#include "ring/engine/engine.h"

namespace dtl::ring {
namespace {

// Looks at the sockets that cost about 1 us each and often save the 10 us of a sleep; more would
// take the core away from ranks that compute.
constexpr int kPolls = 20;
// Looks at shared memory between two at the sockets; fewer where other ranks want this core.
constexpr int kLooksPerCall = 24, kLooksIfCrowded = 4;
constexpr int kMostAsleep = 16;  // waits in a row
constexpr int kTick = 1;         // ms; see engine.h
constexpr int kLongTick = 64;    // ms, while a caller holds the wheel, who says when it leaves

}  // namespace

void Engine::run() {
  std::unique_lock wheel(wheel_);
  while (!stops_) {
    const bool moved = turn();
    if (!moved && !stops_ && !poll_a_little()) sleep_without(wheel);
    look_at_time();
  }
  leave();
}

// True when something moved.
bool Engine::turn() {
  if (queue_.has_news()) take_orders();
  if (stops_ || has_failed_) return false;
  bool moved = false;
  try {
    start_submitted();
    moved = !has_failed_ && executor_.step();
    look_at_links();
    finish_operations();
  } catch (const std::exception& error) {
    fail(DT_E_NOMEM, settings_.rank, error.what());
  }
  if (moved && waits_since_) last_wait_ = Clock::now() - *std::exchange(waits_since_, std::nullopt);
  return moved;
}

// Long operations over links that are slower than this host: looking until the next bytes come
// would take the core away from ranks that compute. A short sleep may look long by how long waking
// takes, so now and then it is tried.
bool Engine::would_spin_in_vain() {
  const bool is_hurried = executor_.has_active(Lane::kSmall) || executor_.has_active(Lane::kPair);
  const bool is_slow = !is_hurried && last_wait_ > settings_.active_spin;
  waits_asleep_ = is_slow && waits_asleep_ < kMostAsleep ? waits_asleep_ + 1 : 0;
  return waits_asleep_ > 0;
}

// By a caller with the wheel.
void Engine::take_over() {
  is_lent_.store(true, std::memory_order_relaxed);
  drives_.fetch_add(1, std::memory_order_relaxed);
  end_sleep();
}

void Engine::note_submission(bool is_urgent) {
  if (!is_urgent) {
    std::unique_lock wheel(wheel_, std::try_to_lock);
    if (wheel.owns_lock()) {
      take_over();
      (void)turn();
      const bool calls = !executor_.is_idle() && !std::exchange(is_ticking_, true);
      wheel.unlock();
      if (calls) call_thread();
      return;
    }
  }
  queue_.wake_sleeper();
  if (is_urgent) recall();
}

void Engine::drive(dt_work work, Clock::time_point deadline) {
  std::unique_lock wheel(wheel_, std::try_to_lock);
  if (!wheel.owns_lock()) return;
  take_over();
  for (bool is_over = false; !stops_ && !queue_.is_settled(work) && !is_over;) {
    is_over = Clock::now() >= deadline;
    if (turn() || queue_.is_settled(work)) continue;
    if (is_over) {
      if (take_events(0) > 0) (void)turn();
    } else if (!poll_a_little()) {
      sleep_until(deadline);
    }
    look_at_time();
  }
  // The thread must not sleep on over an operation that nobody waits for.
  const bool calls = !is_left_alone() || is_parked_.exchange(false) ||
                     (!executor_.is_idle() && !std::exchange(is_ticking_, true));
  wheel.unlock();
  if (calls) call_thread();
}

// Nothing is active that somebody else waits for, or that takes long.
bool Engine::is_left_alone() const {
  if (stops_ || has_failed_) return false;
  return executor_.is_idle() || (!executor_.has_active(Lane::kBulk) && !queue_.has_waiters());
}

void Engine::recall() {
  if (is_lent_.load(std::memory_order_relaxed)) call_thread();
}

// Wherever it sleeps, it looks whether the wheel is free.
void Engine::call_thread() const {
  const std::uint64_t one = 1;
  (void)!::write(recall_.get(), &one, sizeof one);
}

// Until no caller makes use of the wheel.
void Engine::wait_for_wheel(std::unique_lock<std::mutex>& wheel) {
  bool is_recalled = false;
  for (std::uint32_t seen = drives_.load() - 1;;) {
    const bool has_it = wheel.try_lock();
    const std::uint32_t drives = drives_.load(std::memory_order_relaxed);
    if (has_it && (!is_lent_ || is_recalled || drives == seen)) break;
    seen = drives;
    if (has_it) wheel.unlock();
    is_parked_.store(!has_it);
    pollfd entry{recall_.get(), POLLIN, 0};
    if (::poll(&entry, 1, has_it ? kTick : kLongTick) <= 0) continue;
    std::uint64_t count = 0;
    is_recalled = ::read(recall_.get(), &count, sizeof count) > 0 || is_recalled;
  }
  is_parked_.store(false);
  is_ticking_ = false;
  is_lent_.store(false, std::memory_order_relaxed);
}

// True when something happened.
bool Engine::poll_a_little() {
  if (has_failed_ || executor_.is_idle()) return false;
  const auto begin = Clock::now(), end = begin + settings_.active_spin;
  if (!waits_since_) waits_since_ = begin;
  if (would_spin_in_vain()) return queue_.has_news() || take_events(0) > 0;
  const int looks = settings_.active_spin.count() > 0 ? kLooksPerCall : kLooksIfCrowded;
  for (int i = 1;; ++i) {
    if (queue_.has_news()) return true;
    if (memory_ != nullptr && (executor_.step() || executor_.has_findings())) return true;
    const bool yields = i % (memory_ == nullptr ? kLooksIfCrowded : looks) == 0;
    if ((memory_ == nullptr || yields) && take_events(0) > 0) return true;
    if (!yields) continue;
    if (i >= kPolls && Clock::now() >= end) return false;
    std::this_thread::yield();  // whom this core is wanted for: the caller, or another rank
  }
}

bool Engine::begin_sleep() {
  if (!queue_.begin_sleep()) return false;
  is_asleep_ = true;
  if (memory_ == nullptr || memory_->begin_sleep()) return true;
  end_sleep();
  return false;
}

void Engine::end_sleep() {
  if (!is_asleep_) return;
  is_asleep_ = false;
  if (memory_ != nullptr) memory_->end_sleep();
  queue_.end_sleep();
}

// -1: until something happens.
int Engine::time_to_sleep_ms() const {
  const auto deadline = next_deadline();
  if (deadline == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000000));
}

// A caller, who keeps the wheel.
void Engine::sleep_until(Clock::time_point deadline) {
  int timeout_ms = time_to_sleep_ms();
  if (deadline != Clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int own_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000000));
    timeout_ms = timeout_ms < 0 ? own_ms : std::min(timeout_ms, own_ms);
  }
  if (!begin_sleep()) return;
  take_events(timeout_ms);
  end_sleep();
}

// The thread, which leaves the wheel to whoever wants it. It does not take events before it has the
// wheel again: each is told once only.
void Engine::sleep_without(std::unique_lock<std::mutex>& wheel) {
  const int timeout_ms = time_to_sleep_ms();
  if (!begin_sleep()) return;
  wheel.unlock();
  std::array<pollfd, 2> entries{pollfd{epoll_.get(), POLLIN, 0}, {recall_.get(), POLLIN, 0}};
  std::uint64_t count = 0;
  if (::poll(entries.data(), entries.size(), timeout_ms) > 0 && entries[1].revents != 0) {
    (void)!::read(recall_.get(), &count, sizeof count);
  }
  wait_for_wheel(wheel);
  end_sleep();
  take_events(0);
}

int Engine::take_events(int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int n =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int k = 0; k < n; ++k) {
    const auto& event = events[static_cast<std::size_t>(k)];
    handle_event(event.data.fd, event.events);
  }
  return n;
}

}  // namespace dtl::ring
