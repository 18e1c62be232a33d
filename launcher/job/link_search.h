#pragma once
// LinkSearch: how a launcher handles the lost connection of an agent that it may find again
// (--reconnect, or a tree of agents): when it tries, which answers count, and when it gives up. One
// for each node. Pure: searches.cc acts on it.

#include <cstdint>
#include <optional>
#include <string>

#include "base/job_time.h"
#include "wire/messages.h"

namespace dtl {

// In a tree of agents. A relay that stops is left after 4 s, and one that is cut off after 9 s; its
// children then need a moment to reach another one.
constexpr JobTime kTreePatience{9000}, kBranchDelay{2000}, kQuietSearch{3000};
// An agent that hears no pulse of dtlaunch tries another parent after 4 to 6.5 s
// (wire/PROTOCOL.md). So the user is told of its silence only after that.
constexpr JobTime kBranchSilence{7000};
constexpr JobTime tree_patience(JobTime reconnect) {
  return reconnect > kTreePatience ? reconnect : kTreePatience;
}

class LinkSearch {
 public:
  // patience: --reconnect. 0: a connection that is lost is lost for good. In a tree of agents the
  // agent itself comes back by another branch within `delay`, as a rule, so only then a login is
  // tried; and nobody need hear of a search that is over within `quiet`.
  explicit LinkSearch(JobTime patience = JobTime{0}, JobTime delay = JobTime{0},
                      JobTime quiet = JobTime{0})
      : patience_(patience), delay_(delay), quiet_(quiet) {}
  bool allowed() const { return patience_.count() > 0; }
  JobTime patience() const { return patience_; }

  void begin(JobTime now);  // the connection is lost; a second call does nothing
  bool searching() const { return until_.has_value(); }
  void end() { until_.reset(); }
  // Gives up at `until` if that is sooner, because the job is ending.
  void hurry(JobTime until);
  // True once in each search, when the user is to hear of it.
  bool must_tell(JobTime now);
  bool was_told() const { return told_; }
  // The launcher itself was stopped for this long, and could not search.
  void excuse(JobTime absent);

  struct Try {
    std::uint32_t attempt = 0;  // from 1 up
    JobTime until{0};           // no offer after it, or the agent might live for nothing
  };
  // A try that is due now. At most one is under way.
  std::optional<Try> next_try(JobTime now);
  bool is_over(JobTime now) const { return until_ && now >= *until_; }
  // When next_try() or is_over() has something new to say.
  std::optional<JobTime> wakeup() const;

  // True for the try whose result counts. A late result of an earlier one does not.
  bool awaits(std::uint32_t attempt) const { return until_ && !next_ && attempt == attempt_; }

  enum class Verdict { kGoOn, kFound, kGone };
  // What came of a try: an answer, or none and why. kGone: the host answers and the agent is dead.
  Verdict tried(std::uint32_t attempt, std::optional<ResumeAnswer> answer, const std::string& why,
                JobTime now);
  JobTime lasted(JobTime now) const { return now - began_; }
  const std::string& last_problem() const { return problem_; }

 private:
  JobTime patience_, delay_, quiet_;
  std::optional<JobTime> until_;  // while it searches
  std::optional<JobTime> next_;   // the next try; none while one is under way
  JobTime began_{0}, pause_{0};
  std::uint32_t attempt_ = 0;
  bool told_ = false;
  // Of the last try, for the message when it gives up.
  std::string problem_;
};

}  // namespace dtl
