#pragma once
// What tells users one job from another, wherever they meet it: the record that ps reads, the
// report, and the events. It does not follow what happens to the job.

#include <string>
#include <utility>
#include <vector>

#include "base/machine/job_record.h"
#include "plan/request/request.h"

namespace dtl {

// "n1,n2"
std::string join_names(const std::vector<Host>& hosts);

// The launcher's record of a job before it starts. Values that look secret are masked.
JobRecord first_record(const std::string& job_id, const Request& request, bool labelled);

// Members that the report and every event have: a name and its strings.
using NamedList = std::pair<std::string, std::vector<std::string>>;
std::vector<NamedList> lists_about_job(const Reporting& reporting);

}  // namespace dtl
