#pragma once
// What is left of a job when it is over: the facts for the failure card, and --report's JSON, whose
// fields dtlaunch(1) documents. Pure.

#include <string>

#include "launcher/job/job_outcome.h"
#include "launcher/session/session.h"

namespace dtl {

CardFacts card_facts(const SessionResult& result);

// Values of variables whose names look secret are masked.
std::string report_json(const SessionResult& result);

}  // namespace dtl
