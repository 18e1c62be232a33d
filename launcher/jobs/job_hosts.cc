#include "launcher/jobs/job_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/jobs/jobs_commands.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

// A name in the launcher's record, as it is reached from here.
Host reached_host(const std::string& name, const JobsCommand& command, const JobView& job) {
  const auto given = std::find_if(command.hosts.begin(), command.hosts.end(),
                                  [&](const Host& host) { return host.name == name; });
  if (given != command.hosts.end() && !is_loopback_name(name)) return *given;
  Host host;
  host.name = name;
  host.here = name == own_host_name();
  // On the launcher's host these names mean that host.
  const bool is_launchers = name == job.record.host || is_loopback_name(name);
  return is_launchers && !host.here ? job.asked_launcher_host : host;
}

}  // namespace

JobView whole_job(const JobsCommand& command, const StartOptions& start, int* failed) {
  const std::vector<JobView> jobs = list_jobs(command.hosts, start, failed);
  JobView job = find_job(jobs, command.job);
  if (job.launcher_seen || job.agents.empty()) return job;
  std::vector<Host> hosts = job.agents;
  hosts.push_back(launcher_host_of(job));
  for (const JobView& found : list_jobs(hosts, start, failed)) {
    if (found.id == job.id) job = found;
  }
  return job;
}

void check_runs(const JobView& job, const std::string& attempted) {
  switch (job.status) {
    case JobStatus::kAlive:
      if (job.state != kWaitingState) return;
      throw Error(Exit::kBadInput, "job " + job.id + ": " + attempted, "it waits in line for cores",
                  "dtlaunch queue");
    case JobStatus::kEnded:
      throw Error(
          Exit::kBadInput, "job " + job.id + ": " + attempted,
          fmt::format("it has ended, with status {}", job.record.exit_status),
          // Only a detached job's output is kept, but every job is in the history.
          (job.record.detached ? "dtlaunch logs " : "dtlaunch show ") + job.id.substr(0, 4));
    case JobStatus::kLost:
    case JobStatus::kLeftover:
    case JobStatus::kCleaned:
      throw Error(Exit::kBadInput, "job " + job.id + ": " + attempted,
                  "its launcher was killed, and no agent runs them", "dtlaunch ps -a");
  }
}

std::vector<Host> hosts_of_job(const JobsCommand& command, const JobView& job) {
  std::vector<Host> hosts;
  std::set<std::string> names;
  const auto add = [&](const Host& host) {
    // This machine has been asked under its own name, which says more.
    if (is_loopback_name(host.name) && names.contains(own_host_name())) return;
    if (names.insert(host.name).second) hosts.push_back(host);
  };
  if (job.launcher_seen) {
    for (const std::string& name : split(job.record.hosts, ',')) {
      if (!name.empty()) add(reached_host(name, command, job));
    }
  }
  for (const Host& host : job.agents) add(host);
  return hosts;
}

}  // namespace dtl
