// A rank is in at most one list: it failed by itself, because of another rank, or was told to stop.
#include "launcher/session/card_facts.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/machine/find_program.h"
#include "launcher/session/error_file.h"

namespace dtl {

// In seconds, for people and JSON: a job's clocks count milliseconds.
double seconds(JobTime time) {
  return static_cast<double>(time.count()) / 1000;
}

namespace {

const RankPlan* planned_rank(const SessionResult& result, int wanted) {
  if (!result.plan) return nullptr;
  for (const NodePlan& node : result.plan->nodes) {
    for (const RankPlan& rank : node.ranks) {
      if (rank.rank == wanted) return &rank;
    }
  }
  return nullptr;
}

// Of this machine's folders: those of other hosts are mostly the same.
std::string near_program(const Outcome& outcome, const RankPlan& rank) {
  constexpr std::string_view kPath = "PATH=";
  const std::string& program = rank.arguments.front();
  const bool missing = outcome.cause == Cause::kSpawn && outcome.error_number == ENOENT;
  if (!missing || program.find('/') != program.npos) return {};
  for (const std::string& variable : rank.environment) {
    if (variable.starts_with(kPath)) return nearest_program(program, variable.substr(kPath.size()));
  }
  return {};
}

}  // namespace

std::vector<RankNow> asked_ranks(const SessionResult& result) {
  const Cause cause = result.job.outcome->cause;
  // Only these causes ask ranks for their stacks before they end them.
  if (cause != Cause::kTimeout && cause != Cause::kHang) return {};
  std::vector<RankNow> ranks;
  for (std::size_t i = 0; i < result.job.ranks.size(); ++i) {
    const RankState& state = result.job.ranks[i];
    RankNow& rank = ranks.emplace_back();
    rank.rank = static_cast<int>(i);
    rank.host = result.hosts[static_cast<std::size_t>(state.node)].name;
    rank.stack = state.stack;
    rank.native = state.native;
    rank.completed = state.phase == RankPhase::kExited && !state.after_stop;
  }
  return ranks;
}

CardFacts card_facts(const SessionResult& result) {
  const Outcome& outcome = *result.job.outcome;
  CardFacts facts;
  facts.seconds = seconds(result.ended);
  for (const PhaseTime& phase : result.phases) {
    // Until the failure, not until the cleanup was done.
    if (phase.state == JobState::kStopping) facts.seconds = seconds(phase.began);
  }
  if (outcome.node >= 0) {
    facts.reached = result.hosts[static_cast<std::size_t>(outcome.node)];
    facts.host = facts.reached.name;
  }
  // If no rank is to blame, use rank 0's program.
  if (const RankPlan* rank = planned_rank(result, std::max(outcome.rank, 0))) {
    facts.working_directory = rank->working_directory;
    facts.program = rank->arguments.front();
    facts.near_program = near_program(outcome, *rank);
  }
  facts.last_lines = result.last_lines;
  facts.lines_shown = result.lines_shown;
  facts.asked = asked_ranks(result);
  facts.hang = result.job.hang;
  for (std::size_t i = 0; i < result.job.ranks.size(); ++i) {
    const RankState& rank = result.job.ranks[i];
    const int number = static_cast<int>(i);
    if (number == outcome.rank) {
      facts.pid = rank.pid;
      facts.itself_disconnected = rank.consequence;
      facts.oom_kills = rank.evidence.oom_kills;
      facts.memory_limit = rank.evidence.memory_limit;
      facts.peak_bytes = rank.max_rss_kib << 10;
      facts.traceback = traceback_of(rank.evidence.error_file);
    } else if (rank.consequence) {
      facts.disconnected.push_back(number);
      // It failed without a message before it was told to stop.
    } else if (rank.silent && !rank.after_stop) {
      facts.silent.push_back(number);
    } else if (rank.phase == RankPhase::kLost) {
      facts.lost.push_back(number);
    } else if (rank.phase == RankPhase::kExited && rank.after_stop) {
      // 128 + SIGTERM: programs that handle SIGTERM often exit with it.
      const bool stopped = rank.signal != 0 || rank.code == 0 || rank.code == 128 + SIGTERM;
      (stopped ? facts.stopped : facts.failed_too).push_back(number);
    }
  }
  return facts;
}

}  // namespace dtl
