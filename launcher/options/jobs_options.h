#pragma once
// JobsCommand: the command lines of dtlaunch ps, queue, logs, attach, ask, kill, cancel and clean
// as one value; dtlaunch-jobs(1). They ask hosts about jobs and share their options; launcher/jobs
// runs them.

#include <string>
#include <vector>

#include "launcher/options/subcommand_options.h"
#include "plan/request/host.h"

namespace dtl {

struct JobsCommand : SubcommandOptions {
  std::vector<Host> hosts;  // to ask; this machine if the line names none
  std::string job;          // a prefix of its id; not for ps, queue and clean
};

// arguments: those after the name. Reads the hostfile, except for --help, which needs no files.
// Throws Error(kUsage) and Error(kBadInput).
JobsCommand parse_jobs_command(const std::string& name, const std::vector<std::string>& arguments);

// Whether the subcommand takes the id of a job.
bool wants_job(const std::string& name);

// dtlaunch ps --help
std::string jobs_help(const std::string& name);

}  // namespace dtl
