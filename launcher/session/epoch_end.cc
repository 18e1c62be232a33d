#include "launcher/session/epoch_end.h"

#include <algorithm>
#include <optional>

#include "launcher/session/card_facts.h"

namespace dtl {
namespace {

std::optional<JobTime> time_all_ran(const SessionResult& result) {
  const auto& ranks = result.job.ranks;
  if (ranks.empty()) return std::nullopt;
  JobTime began{0};
  for (const RankState& rank : ranks) {
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
  if (end.outcome.rank < 0) return end;
  const CardFacts facts = card_facts(result);
  end.last_words = facts.traceback.empty() ? facts.last_lines : facts.traceback;
  end.consequence = facts.itself_disconnected;
  end.out_of_memory = facts.oom_kills > 0;
  return end;
}

}  // namespace dtl
