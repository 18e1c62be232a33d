#pragma once
// CardFacts of a session: what the failure card and the report say about its end. Both use these
// facts, so they blame the same rank. launcher/job/job_outcome.h formats the card. Pure.

#include <vector>

#include "launcher/job/hang.h"
#include "launcher/job/job_outcome.h"
#include "launcher/session/session.h"

namespace dtl {

double seconds(JobTime time);

// `result` has an outcome.
CardFacts card_facts(const SessionResult& result);

// What the ranks did when the job's time was up; empty if the job ended for another reason.
std::vector<RankNow> asked_ranks(const SessionResult& result);

}  // namespace dtl
