#pragma once
// What the failure card and the report tell of how a session ended. Pure.

#include <vector>

#include "launcher/job/hang.h"
#include "launcher/job/job_outcome.h"
#include "launcher/session/session.h"

namespace dtl {

double seconds(JobTime time);

CardFacts card_facts(const SessionResult& result);

// What the ranks did when the job's time was up; nobody where that was not the reason of its end.
std::vector<RankNow> asked_ranks(const SessionResult& result);

}  // namespace dtl
