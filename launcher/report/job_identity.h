#pragma once
// What identifies a job to users: for the record that ps reads, the report, and the events. All
// three use these functions, so they show the same. They know nothing about the job's progress.

#include <string>
#include <utility>
#include <vector>

#include "base/machine/job_record.h"
#include "plan/request/request.h"

namespace dtl {

// The names as the user typed them: "n1,n2".
std::string join_names(const std::vector<Host>& hosts);

// The launcher's record of a job before it starts. Masks values that look secret, also in options:
// everybody who may read a record would see them. labelled: the job has -l, so `logs` labels its
// lines too.
JobRecord first_record(const std::string& job_id, const Request& request, bool labelled);

// Members of the report and of every event: a name and its strings.
using NamedList = std::pair<std::string, std::vector<std::string>>;
std::vector<NamedList> lists_about_job(const Reporting& reporting);

}  // namespace dtl
