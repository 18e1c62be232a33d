#pragma once
// The hosts of a job that runs, from the records of the hosts that a command names: for `dtlaunch
// ask` and `dtlaunch top`, which then ask each of them. Blocks, as all questions to hosts do.

#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"
#include "launcher/jobs/jobs_view.h"
#include "launcher/options/jobs_options.h"
#include "plan/request/host.h"

namespace dtl {

// The job command.job with all that its launcher knows: a worker knows only its own share, so its
// launcher's host is asked next. Names hosts that do not answer on standard error, and sets
// `*failed` to the first one's exit status. Throws Error(kBadInput) as find_job().
JobView whole_job(const JobsCommand& command, const StartOptions& start, int* failed);

// Throws Error(kBadInput) unless the job runs. attempted: "cannot ask its ranks".
void check_runs(const JobView& job, const std::string& attempted);

// Under the names that reach them from here, each once.
std::vector<Host> hosts_of_job(const JobsCommand& command, const JobView& job);

}  // namespace dtl
