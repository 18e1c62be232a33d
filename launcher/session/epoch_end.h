#pragma once
// Summarises how an epoch ended, from its session's result, for the decisions in launcher/restart.
// Pure.

#include <string>
#include <vector>

#include "launcher/restart/restart.h"
#include "launcher/session/session.h"

namespace dtl {

// `result` has an outcome.
EpochEnd end_of(const SessionResult& result);

// Whether it was refused because other jobs have the cores.
bool lacks_cores(const SessionResult& result);

std::vector<std::string> names_of(const std::vector<Host>& hosts);
std::string names_or_count(const std::vector<Host>& hosts);  // "node1,node2", or "12 hosts"

// When the first failure became known, since the session began.
JobTime time_of_failure(const SessionResult& result);

// In order of rank.
std::vector<std::string> hosts_with_ranks(const SessionResult& result);

// Why another epoch, on hosts of this one, could not place its ranks; empty: it could, or nobody
// knows yet.
std::string why_ranks_do_not_fit(const Request& next, const SessionResult& ended);

}  // namespace dtl
