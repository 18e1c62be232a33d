#pragma once
// What a session's result says of the epoch that it was.

#include <string>
#include <vector>

#include "launcher/job/restart.h"
#include "launcher/session/session.h"

namespace dtl {

EpochEnd end_of(const SessionResult& result);
// When the first failure was known, since the session began.
JobTime time_of_failure(const SessionResult& result);
std::vector<std::string> hosts_with_ranks(const SessionResult& result);

}  // namespace dtl
