#pragma once
// dtlaunch ps, queue, logs, attach, ask, kill, cancel and clean: dtlaunch-jobs(1). They ask the
// dtagent of each host, here or over ssh, which reads the records that jobs leave in the user's
// folder. No server or daemon keeps a list of jobs.

#include <optional>
#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"
#include "launcher/jobs/cores_view.h"
#include "launcher/jobs/jobs_view.h"
#include "launcher/options/jobs_options.h"
#include "launcher/screen/json_answer.h"

namespace dtl {

// Returns the exit status. Throws Error, also for a wrong command line.
int run_jobs_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start);

// What several of them need:

// The columns to keep to on standard output; absent: readers of a pipe want nothing cut.
std::optional<int> table_columns(const JobsCommand& command);

// All jobs that the hosts know. Names hosts that do not answer on standard error, and sets
// `*failed` to the first one's exit status; adds them to `*unreachable` unless that is nullptr.
std::vector<JobView> list_jobs(const std::vector<Host>& hosts, const StartOptions& start,
                               int* failed, std::vector<Unreachable>* unreachable = nullptr);

// The cores of all hosts that answer, and who waits for them; the rest as list_jobs().
std::vector<HostCores> list_node_cores(const JobsCommand& command, const StartOptions& start,
                                       int* failed, std::vector<Unreachable>* unreachable);

// The host of a job's launcher, under the name that reaches it from here.
Host launcher_host_of(const JobView& job);

// In queue_command.cc.
int show_queue(const JobsCommand& command, const StartOptions& start);

// logs and attach, in jobs_logs.cc. attach() returns the job's own exit status.
int show_logs(const JobsCommand& command, const StartOptions& start);
int attach(const JobsCommand& command, const StartOptions& start);

// ask, in jobs_ask.cc. Returns 0 if all ranks answered.
int ask_ranks(const JobsCommand& command, const StartOptions& start);

}  // namespace dtl
