#pragma once
// How an epoch came to its end, from what its session has left: between the session, which knows
// everything, and launcher/restart, which judges from little. Pure.

#include <string>
#include <vector>

#include "launcher/restart/restart.h"
#include "launcher/session/session.h"

namespace dtl {

// `result` has an outcome.
EpochEnd end_of(const SessionResult& result);

// When the first failure was known, since the session began.
JobTime time_of_failure(const SessionResult& result);

// In order of rank.
std::vector<std::string> hosts_with_ranks(const SessionResult& result);

// Why another epoch, on hosts that were in this one, could not have its ranks; empty: it could, or
// that is not known yet.
std::string why_ranks_do_not_fit(const Request& next, const SessionResult& ended);

}  // namespace dtl
