#pragma once
// How an epoch came to its end, from what its session has left. Pure.

#include "launcher/job/restart.h"
#include "launcher/session/session.h"

namespace dtl {

EpochEnd end_of(const SessionResult& result);

// When the first failure was known.
JobTime time_of_failure(const SessionResult& result);

}  // namespace dtl
