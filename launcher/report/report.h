#pragma once
// The text of --report: what is left of a job when it is over, as JSON, whose fields dtlaunch(1)
// documents. Who writes the file is report_file.h's business. Pure.

#include <string>

#include "launcher/session/epochs.h"

namespace dtl {

// Values of variables whose names look secret are masked, and so are passwords in URLs. What is not
// said to be of an epoch is of the last one.
std::string report_json(const JobResult& job);

}  // namespace dtl
