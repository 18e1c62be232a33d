// Times count from the beginning of that session.
#include "launcher/session/epoch_end.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "launcher/session/card_facts.h"
#include "plan/placement.h"

namespace dtl {
namespace {

std::optional<JobTime> time_all_ran(const SessionResult& result) {
  const auto& ranks = result.job.ranks;
  if (ranks.empty()) return std::nullopt;
  JobTime began{0};
  for (const RankState& rank : ranks) {
    // This rank never started, so the ranks never all ran.
    if (rank.pid == 0) return std::nullopt;
    began = std::max(began, rank.started);
  }
  return began;
}

}  // namespace

JobTime time_of_failure(const SessionResult& result) {
  for (const PhaseTime& phase : result.phases) {
    if (phase.state >= JobState::kStopping) return phase.began;
  }
  return result.ended;
}

EpochEnd end_of(const SessionResult& result) {
  EpochEnd end;
  end.outcome = *result.job.outcome;
  if (const auto began = time_all_ran(result)) end.ran = time_of_failure(result) - *began;
  // Only a rank has last words.
  if (end.outcome.rank < 0) return end;
  const CardFacts facts = card_facts(result);
  // torch's record of an exception says more than the rank's standard error.
  end.last_words = facts.traceback.empty() ? facts.last_lines : facts.traceback;
  end.consequence = facts.itself_disconnected;
  end.out_of_memory = facts.oom_kills > 0;
  return end;
}

std::vector<std::string> hosts_with_ranks(const SessionResult& result) {
  std::vector<std::string> names;
  for (const int node : result.job.used) {
    names.push_back(result.hosts[static_cast<std::size_t>(node)].name);
  }
  return names;
}

bool lacks_cores(const SessionResult& result) {
  const Outcome& outcome = *result.job.outcome;
  return outcome.cause == Cause::kCannotStart &&
         outcome.exit_status == static_cast<int>(Exit::kTryAgain);
}

std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}

std::string names_or_count(const std::vector<Host>& hosts) {
  constexpr std::size_t kMostNames = 8;
  if (hosts.size() > kMostNames) return plural(static_cast<std::int64_t>(hosts.size()), "host");
  return join(names_of(hosts), ",");
}

std::string why_ranks_do_not_fit(const Request& next, const SessionResult& ended) {
  std::vector<NodeFacts> facts;
  for (const Host& host : next.hosts) {
    const auto is_it = [&](const Host& other) { return other.name == host.name; };
    const auto at = std::find_if(ended.hosts.begin(), ended.hosts.end(), is_it);
    // The facts of a host that was not in the epoch are unknown.
    if (at == ended.hosts.end()) return {};
    const auto& known = ended.facts[static_cast<std::size_t>(at - ended.hosts.begin())];
    if (!known) return {};
    facts.push_back(*known);
    facts.back().claims.clear();  // other jobs may have ended since
  }
  if (facts.empty()) return {};
  try {
    // Calls the function that the next session calls, and drops its result.
    place_ranks_on(next, facts);
  } catch (const Error& error) {
    return error.attempted() + ": " + error.reason();
  }
  return {};
}

}  // namespace dtl
