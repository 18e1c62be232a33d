// Judges epochs that failed. The caller leaves out those that ended because hosts came or went.
#include "launcher/restart/restart.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"

namespace dtl {
namespace {

// Before a first step can have finished. If not all ranks ever ran, it failed at once too.
bool at_once(const EpochEnd& end) {
  return !end.ran || *end.ran < JobTime(kFirstStep);
}

// Statuses of sysexits.h that a retry does not change: usage, data, configuration...
bool is_final_status(int status) {
  return status >= static_cast<int>(Exit::kUsage) && status <= static_cast<int>(Exit::kConfig) &&
         status != static_cast<int>(Exit::kTryAgain);
}

// Detects Python's traceback in standard error. Its first lines may be cut off.
bool is_traceback(const std::vector<std::string>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return line.starts_with("Traceback (most recent call last)") ||
           (line.starts_with("  File \"") && line.find("\", line ") != line.npos);
  });
}

// A signal from outside: the program did not fail. A kill for want of memory is the program's
// fault: a retry would need as much.
bool killed_from_outside(const EpochEnd& end) {
  const int signal = end.outcome.signal;
  return (signal == SIGKILL || signal == SIGTERM) && !end.out_of_memory;
}

// The last line of a rank without what differs between runs: times, addresses, pids. Letters of
// hexadecimal numbers are removed too, so only a pattern is left.
std::string kind_of_words(const EpochEnd& end) {
  if (end.last_words.empty()) return {};
  std::string words = end.last_words.back();
  constexpr std::string_view kDigits = "0123456789abcdefx";
  std::erase_if(words, [&](char c) { return kDigits.find(c) != kDigits.npos; });
  return words;
}

bool failed_alike(const EpochEnd& a, const EpochEnd& b) {
  const Cause cause = a.outcome.cause;
  if (cause != Cause::kRankExit && cause != Cause::kRankSignal) return false;
  // A rank that lost its connection to another one says nothing about its own failure.
  if (killed_from_outside(a) || killed_from_outside(b) || a.consequence || b.consequence)
    return false;
  return cause == b.outcome.cause && a.outcome.rank == b.outcome.rank &&
         a.outcome.exit_status == b.outcome.exit_status && kind_of_words(a) == kind_of_words(b);
}

// A switch without default: the compiler then asks for a decision about each new cause.
bool may_be_tried_again(Cause cause) {
  switch (cause) {
    case Cause::kRankExit:
    case Cause::kRankSignal:
    case Cause::kNodeLost:
    case Cause::kAgentFailed:
    case Cause::kUpEnded:
    case Cause::kHang:
    case Cause::kMpiAbort:
    case Cause::kMpiLeft:
      return true;
    case Cause::kCompleted:
    case Cause::kDryRun:
    case Cause::kCannotStart:
    case Cause::kSpawn:
    case Cause::kTimeout:
    case Cause::kInterrupted:
    case Cause::kOutputClosed:
    case Cause::kStoppedSelf:
    case Cause::kMpiBroken:
    case Cause::kMpiAlone:
    case Cause::kHostsChanged:  // not a failure, and not judged here
    case Cause::kNotice:        // the same
      return false;
  }
  return false;
}

// Why a retry would fail in the same way; empty: it may not.
std::string hopeless(const std::vector<EpochEnd>& ends) {
  const EpochEnd& last = ends.back();
  const Outcome& outcome = last.outcome;
  if (outcome.cause == Cause::kSpawn) return "its program cannot be started";
  // node < 0: no host is to blame, so the plan itself failed. A retry has the same hosts.
  if (outcome.cause == Cause::kCannotStart && outcome.node < 0 && ends.size() > 1 &&
      is_final_status(outcome.exit_status)) {
    return "its ranks do not fit the hosts that are left";
  }
  if (outcome.cause == Cause::kRankExit && !last.consequence &&
      is_final_status(outcome.exit_status)) {
    return fmt::format("status {} says that another try would end alike", outcome.exit_status);
  }
  // A later exception may have a cause that a retry does not meet.
  if (outcome.cause == Cause::kRankExit && at_once(last) && !last.consequence &&
      is_traceback(last.last_words)) {
    return fmt::format("rank {} ended by a Python exception before its first step", outcome.rank);
  }
  if (ends.size() > 1 && failed_alike(ends[ends.size() - 2], last)) {
    return fmt::format("rank {} has failed in the same way twice", outcome.rank);
  }
  return {};
}

// None before the first restart; after epochs that failed at once 1 s, 2 s, 4 s...
JobTime back_off(const std::vector<EpochEnd>& ends) {
  JobTime wait{0};
  for (auto end = ends.rbegin(); end != ends.rend() && at_once(*end); ++end) {
    if (end != ends.rbegin()) wait = wait.count() == 0 ? JobTime(kFirstBackOff) : 2 * wait;
  }
  return std::min(wait, JobTime(kLongestBackOff));
}

}  // namespace

RestartVerdict judge_restart(int most, const std::vector<EpochEnd>& ends) {
  RestartVerdict verdict;
  const int done = static_cast<int>(ends.size()) - 1;
  const Cause cause = ends.back().outcome.cause;
  // A host that does not come up again was left out by then.
  const bool lost_more_hosts = cause == Cause::kCannotStart && done > 0;
  if (most == 0) return verdict;
  // Before the limit on restarts is checked, because this reason says more.
  verdict.why = hopeless(ends);
  if (!verdict.why.empty() || (!may_be_tried_again(cause) && !lost_more_hosts)) return verdict;
  if (done >= most) {
    verdict.why = fmt::format("--max-restarts {}", most);
    return verdict;
  }
  verdict.again = true;
  verdict.wait = back_off(ends);
  return verdict;
}

std::size_t deciding_epoch(const std::vector<EpochEnd>& ends) {
  std::size_t at = ends.size() - 1;
  const auto failed = [&] {
    const Cause cause = ends[at].outcome.cause;
    return may_be_tried_again(cause) || cause == Cause::kCannotStart || cause == Cause::kSpawn;
  };
  // Restarts that fail at once usually fail because of what the first failure has left behind.
  while (at > 0 && failed() && at_once(ends[at])) --at;
  return at;
}

}  // namespace dtl
