// Each operation warns once. next_warning_ avoids checking every operation in each turn.
#include "ring/engine/patience.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dtl::ring {
namespace {

// How long a rank that does not know the late rank waits for one that does: generous for the
// delivery of news.
constexpr auto kVerdictDelay = std::chrono::milliseconds(250);

// A rank that knows of ranks that have not even begun knows best whom to name, so it reports first.
// Ranks that have begun only wait for the others.
Patience::Clock::time_point deadline_of(const ActiveOperation& active) {
  using Duration = Patience::Clock::duration;
  return active.timer.deadline +
         (active.schedule.unheard().empty() ? Duration(kVerdictDelay) : Duration::zero());
}

}  // namespace

void Patience::begin(OperationTimer& timer) {
  timer = {};
  has_unset_ = true;
}

void Patience::start_timers(Clock::time_point now) {
  if (!has_unset_) return;
  has_unset_ = false;
  for (ActiveOperation* active : executor_.active().all()) {
    OperationTimer& timer = active->timer;
    if (timer.deadline != Clock::time_point{}) continue;
    // One clock reading for all that began since the last turn: begin() is on the path of every
    // call.
    timer = {now + settings_.operation_timeout, now + settings_.warn_timeout};
    next_warning_ = std::min(next_warning_, timer.warning);
  }
}

void Patience::look_at_time(Clock::time_point now) {
  start_timers(now);
  if (now >= next_warning_) {
    next_warning_ = Clock::time_point::max();
    for (ActiveOperation* active : executor_.active().all()) {
      if (active->timer.has_warned) continue;
      if (now >= active->timer.warning) {
        warn_of(*active);
      } else {
        next_warning_ = std::min(next_warning_, active->timer.warning);
      }
    }
  }
  for (const ActiveOperation* active : executor_.active().all()) {
    if (now >= deadline_of(*active)) return give_up(*active);
  }
}

Patience::Clock::time_point Patience::next_deadline() {
  if (executor_.active().is_empty()) return Clock::time_point::max();
  if (has_unset_) start_timers(Clock::now());
  auto deadline = next_warning_;
  for (const ActiveOperation* active : executor_.active().all()) {
    deadline = std::min(deadline, deadline_of(*active));
  }
  return deadline;
}

std::string Patience::whom_it_waits_for(const Schedule& schedule) const {
  // A longer list does not help the user.
  constexpr std::size_t kMostNames = 8;
  const std::vector<int> unheard = schedule.unheard();
  if (!unheard.empty()) {
    std::string names;
    for (std::size_t i = 0; i < unheard.size() && i < kMostNames; ++i) {
      names += (i > 0 ? ", " : "") + names_.of(unheard[i]);
    }
    if (unheard.size() > kMostNames) {
      names += fmt::format(" and {} more", unheard.size() - kMostNames);
    }
    return names + (unheard.size() == 1 ? " has not begun it" : " have not begun it");
  }
  for (const Flow& flow : schedule.flows) {
    if (!flow.is_received()) return "waiting for data from " + names_.of(flow.peer);
  }
  for (const Flow& flow : schedule.flows) {
    if (!flow.is_sent()) return names_.of(flow.peer) + " does not take data";
  }
  return "it is being summed up";
}

void Patience::warn_of(ActiveOperation& active) {
  const Operation& operation = active.operation();
  active.timer.has_warned = true;
  ++warnings_;
  if (settings_.warn == nullptr) return;
  const std::string text = fmt::format(
      "{}: operation {} ({}) has waited for {} ms: {}", names_.of(rank_), operation.sequence(),
      operation.description(), settings_.warn_timeout.count(), whom_it_waits_for(active.schedule));
  settings_.warn(text.c_str(), settings_.warn_context);
}

void Patience::give_up(const ActiveOperation& active) {
  const Operation& operation = active.operation();
  failures_.fail(
      DT_E_TIMEOUT, rank_,
      fmt::format("{}: operation {} ({}) is not complete after {} ms: {}", names_.of(rank_),
                  operation.sequence(), operation.description(),
                  settings_.operation_timeout.count(), whom_it_waits_for(active.schedule)));
}

}  // namespace dtl::ring
