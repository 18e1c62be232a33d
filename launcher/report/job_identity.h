#pragma once
// What tells users one job from another, wherever they meet it: the record that ps reads, the
// report, and the events. All three take it from here, so that they show the same. What happens to
// the job is not known here.

#include <string>
#include <utility>
#include <vector>

#include "base/machine/job_record.h"
#include "plan/request/request.h"

namespace dtl {

// The names as the user typed them: "n1,n2".
std::string join_names(const std::vector<Host>& hosts);

// The launcher's record of a job before it starts. Values that look secret are masked, in options
// as well: everybody who may read a record would see them. labelled: the job has -l, and `logs`
// then labels its lines, too.
JobRecord first_record(const std::string& job_id, const Request& request, bool labelled);

// Members that the report and every event have: a name and its strings.
using NamedList = std::pair<std::string, std::vector<std::string>>;
std::vector<NamedList> lists_about_job(const Reporting& reporting);

}  // namespace dtl
