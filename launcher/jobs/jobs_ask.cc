// dtlaunch ask: first finds out which hosts have the job (job_hosts.h), then asks each of them
// about its ranks. It needs no answer of the job's launcher and agents, so it works for a job that
// hangs.
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "launcher/agents/agent_query.h"
#include "launcher/jobs/ask_view.h"
#include "launcher/jobs/job_hosts.h"
#include "launcher/jobs/jobs_commands.h"
#include "launcher/jobs/rank_answers.h"

namespace dtl {
namespace {

std::string job_word(const JobView& job) {
  return fmt::format("job {}", job.id);
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
  check_runs(job, "cannot ask its ranks");
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
