#pragma once
// What is left of a job when it is over: --report's JSON, whose fields dtlaunch(1) documents. Pure.

#include <string>

#include "launcher/session/epochs.h"

namespace dtl {

// Values of variables whose names look secret are masked. What is not said to be of an epoch is of
// the last one.
std::string report_json(const JobResult& job);

}  // namespace dtl
