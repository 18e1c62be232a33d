#pragma once
// JobsCommand: the command lines of dtlaunch ps, queue, logs, attach, ask, top, kill, cancel and
// clean as one value; dtlaunch-jobs(1). They ask hosts about jobs and share their options;
// launcher/jobs runs them, and launcher/top one of them.

#include <string>
#include <vector>

#include "launcher/options/subcommand_options.h"
#include "plan/request/host.h"

namespace dtl {

struct JobsCommand : SubcommandOptions {
  std::vector<Host> hosts;  // to ask; this machine if the line names none
  // A prefix of its id; empty for ps, queue and clean, for the newest job, and for all jobs (top).
  std::string job;
};

// arguments: those after the name. Reads the hostfile, except for --help, which needs no files.
// Throws Error(kUsage) and Error(kBadInput).
JobsCommand parse_jobs_command(const std::string& name, const std::vector<std::string>& arguments);

// The prefix of a job's id among the words of a subcommand, in lower case; empty if there is none
// and the subcommand allows that. Throws Error(kUsage).
std::string take_job(const std::string& name, const SubcommandOptions& options);

// Whether the subcommand takes the id of a job.
bool wants_job(const std::string& name);
// Whether it means something without one: the newest job, or all.
bool may_omit_job(const std::string& name);

// dtlaunch ps --help; also of history and show
std::string jobs_help(const std::string& name);

}  // namespace dtl
