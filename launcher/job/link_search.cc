// Pauses are doubled, but only up to kLongestRejoinPause: a network that comes back late is
// found within seconds.
#include "launcher/job/link_search.h"

#include <algorithm>

#include "base/limits.h"

namespace dtl {

void LinkSearch::begin(JobTime now) {
  if (searching()) return;
  began_ = now;
  until_ = now + patience_;
  // Without a tree the first try is immediate: a short interruption is often over by now.
  next_ = now + delay_;
  told_ = false;
  pause_ = JobTime(kFirstRejoinPause);
  problem_.clear();
}

void LinkSearch::hurry(JobTime until) {
  if (until_) until_ = std::min(*until_, until);
}

bool LinkSearch::must_tell(JobTime now) {
  if (!until_ || told_ || now < began_ + quiet_) return false;
  told_ = true;
  return true;
}

void LinkSearch::excuse(JobTime absent) {
  if (until_) *until_ += absent;
}

std::optional<LinkSearch::Try> LinkSearch::next_try(JobTime now) {
  if (!until_ || !next_ || now < *next_ || now >= *until_) return std::nullopt;
  next_.reset();
  // An offer that the agent accepts after the launcher has given up would keep it alive for
  // nothing.
  return Try{++attempt_, std::min(*until_, now + JobTime(kRejoinDeadline))};
}

std::optional<JobTime> LinkSearch::wakeup() const {
  if (!until_) return std::nullopt;
  JobTime next = *until_;
  if (next_) next = std::min(next, *next_);
  if (!told_) next = std::min(next, began_ + quiet_);
  return next;
}

LinkSearch::Verdict LinkSearch::tried(std::uint32_t attempt, std::optional<ResumeAnswer> answer,
                                      const std::string& why, JobTime now) {
  if (!awaits(attempt)) return Verdict::kGoOn;
  if (answer == ResumeAnswer::kResumed) {
    until_.reset();
    return Verdict::kFound;
  }
  if (answer == ResumeAnswer::kGone) {
    until_.reset();
    return Verdict::kGone;
  }
  problem_ = why;
  next_ = now + pause_;
  pause_ = std::min(2 * pause_, JobTime(kLongestRejoinPause));
  return Verdict::kGoOn;
}

}  // namespace dtl
