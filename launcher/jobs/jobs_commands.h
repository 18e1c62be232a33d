#pragma once
// dtlaunch ps, logs, attach, kill and clean: dtlaunch-jobs(1). They ask the dtagent of each host,
// here or over ssh, and need nothing that runs all the time.

#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"
#include "launcher/jobs/jobs_view.h"
#include "launcher/options/jobs_options.h"

namespace dtl {

// The exit status. Throws Error.
int run_jobs_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start);

// What several of them need:

// Every job that the hosts know of; hosts that do not answer are named on standard error, and
// `failed` is set to the first one's exit status.
std::vector<JobView> list_jobs(const std::vector<Host>& hosts, const StartOptions& start,
                               int* failed);

// The host of a job's launcher, as it can be asked from here.
Host launcher_host_of(const JobView& job);

// logs and attach, in jobs_logs.cc
int show_logs(const JobsCommand& command, const StartOptions& start);
int attach(const JobsCommand& command, const StartOptions& start);

}  // namespace dtl
