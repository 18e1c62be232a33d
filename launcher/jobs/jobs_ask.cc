// dtlaunch ask: first finds out which hosts have the job, then asks each of them about its ranks.
// It needs no answer of the job's launcher and agents, so it works for a job that hangs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/agents/agent_query.h"
#include "launcher/jobs/ask_view.h"
#include "launcher/jobs/jobs_commands.h"
#include "launcher/jobs/rank_answers.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

std::string job_word(const JobView& job) {
  return fmt::format("job {}", job.id);
}

// Throws unless the job runs.
void check_runs(const JobView& job) {
  switch (job.status) {
    case JobStatus::kAlive:
      if (job.state != kWaitingState) return;
      throw Error(Exit::kBadInput, job_word(job) + ": cannot ask its ranks",
                  "it waits in line for cores", "dtlaunch queue");
    case JobStatus::kEnded:
      throw Error(Exit::kBadInput, job_word(job) + ": cannot ask its ranks",
                  fmt::format("it has ended, with status {}", job.record.exit_status),
                  "dtlaunch logs " + job.id.substr(0, 4));
    case JobStatus::kLost:
    case JobStatus::kLeftover:
    case JobStatus::kCleaned:
      throw Error(Exit::kBadInput, job_word(job) + ": cannot ask its ranks",
                  "its launcher was killed, and no agent runs them", "dtlaunch ps -a");
  }
}

// A worker knows only its own share; the launcher's host has the names of the others.
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

std::vector<HostAnswer> ask_hosts(const std::vector<Host>& hosts, const JobView& job, bool native,
                                  const StartOptions& start, std::vector<SilentHost>* silent,
                                  int* failed) {
  std::vector<std::string> question = {"--ask", job.id};
  std::chrono::milliseconds patience = kAskAnytime + kAnswerMargin + kHelloDeadline;
  if (native) {
    question.emplace_back("--native");
    patience += kAskNative;
  }
  std::vector<HostAnswer> all;
  for (const Answer& answer : ask_agents(hosts, runner_by(start), question, patience)) {
    if (answer.error) {
      log_error(answer.error->what());
      silent->push_back({answer.host.name, answer.error->reason()});
      if (*failed == 0) *failed = static_cast<int>(answer.error->status());
      continue;
    }
    all.push_back(parse_rank_answers(answer.host.name, answer.text));
  }
  return all;
}

// Ranks that no host knows. They may have ended, so that alone is not a failure.
void tell_of_missing(const JobAnswer& answer, const JobView& job) {
  const int missing = answer.ranks - static_cast<int>(answer.running.size());
  if (!job.launcher_seen) {
    log_notice(
        fmt::format("{}: only the hosts that were asked; the whole: dtlaunch ask -hosts {} {}",
                    job_word(job), launcher_host_of(job).name, job.id.substr(0, 4)));
  } else if (missing > 0 && answer.silent_hosts.empty()) {
    log_notice(
        fmt::format("{}: {} of {} ranks not found: not started yet, ended, or on a host that its "
                    "record does not name",
                    job_word(job), missing, answer.ranks));
  }
}

}  // namespace

int ask_ranks(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  const JobView job = whole_job(command, start, &failed);
  check_runs(job);
  // Hosts that the job does not need may be down.
  if (job.launcher_seen) failed = 0;
  std::vector<SilentHost> silent;
  const std::vector<HostAnswer> hosts =
      ask_hosts(hosts_of_job(command, job), job, command.native, start, &silent, &failed);
  JobAnswer answer = merge_answers(job.id, job.launcher_seen ? job.record.ranks : 0, hosts);
  answer.silent_hosts = std::move(silent);
  if (command.json) {
    write_all(STDOUT_FILENO, ask_json(answer));
  } else if (!answer.running.empty()) {
    write_all(STDOUT_FILENO, ask_text(answer, table_columns(command)));
  }
  tell_of_missing(answer, job);
  const std::vector<std::string> unanswered = unanswered_lines(answer);
  for (const std::string& line : unanswered) log_error(line);
  if (failed == 0 && !unanswered.empty()) failed = static_cast<int>(Exit::kTryAgain);
  return failed;
}

}  // namespace dtl
