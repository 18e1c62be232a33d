#pragma once
// CardFacts of a session: what the failure card and the report tell of how it ended. Both take them
// from here, so that they blame the same rank. What a card looks like is
// launcher/job/job_outcome.h's business. Pure.

#include <vector>

#include "launcher/job/hang.h"
#include "launcher/job/job_outcome.h"
#include "launcher/session/session.h"

namespace dtl {

double seconds(JobTime time);

// `result` has an outcome.
CardFacts card_facts(const SessionResult& result);

// What the ranks did when the job's time was up; nobody where that was not the reason of its end.
std::vector<RankNow> asked_ranks(const SessionResult& result);

}  // namespace dtl
