// Each command makes one or two rounds of questions to hosts. jobs_view.h interprets the answers.
#include "launcher/jobs/jobs_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/agents/agent_query.h"
#include "launcher/jobs/jobs_json.h"
#include "launcher/screen/output_writer.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

constexpr auto kPatience = kHelloDeadline;
// dtagent --end answers when the job has ended.
constexpr auto kKillPatience = kKillGrace + kReapDeadline + kAnswerMargin + kHelloDeadline;

// The command to suggest: "dtlaunch clean" with only the hosts that it can clean. It does nothing
// where a launcher or an agent still runs.
std::string clean_command(const std::vector<JobView>& jobs) {
  std::set<std::string> names;
  for (const JobView& job : jobs) {
    if (!job.agents.empty() || job.launcher_alive) continue;
    for (const Host& host : job.unclean) names.insert(host.name);
  }
  const bool here = names.size() == 1 && is_loopback_name(*names.begin());
  const std::vector<std::string> list(names.begin(), names.end());
  return here ? "dtlaunch clean" : "dtlaunch clean -hosts " + join(list, ",");
}

bool wants_clean(const JobView& job) {
  return job.status == JobStatus::kLost || job.status == JobStatus::kLeftover;
}

// A worker knows only its own part of a job, and the launcher's host.
void tell_of_shares(const std::vector<JobView>& jobs) {
  std::set<std::string> launchers;
  for (const JobView& job : jobs) {
    if (!job.launcher_seen) launchers.insert(launcher_host_of(job).name);
  }
  if (launchers.empty()) return;
  const std::vector<std::string> hosts(launchers.begin(), launchers.end());
  log_notice(
      fmt::format("+: the share of the hosts that were asked, which launched no such job. "
                  "The whole: dtlaunch ps -hosts {}",
                  join(hosts, ",")));
}

int show_cores(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  std::vector<Unreachable> unreachable;
  const std::vector<HostCores> hosts = list_node_cores(command, start, &failed, &unreachable);
  if (command.json) {
    write_all(STDOUT_FILENO, cores_json(hosts, unreachable));
    return failed;
  }
  if (!hosts.empty()) write_all(STDOUT_FILENO, cores_table(hosts, table_columns(command)));
  return failed;
}

// Returns the status of the first host that did not answer; the table shows the others' answers.
int list(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  std::vector<Unreachable> unreachable;
  std::vector<JobView> jobs = list_jobs(command.hosts, start, &failed, &unreachable);
  if (!command.all) {
    // Ended jobs stay in the records for a while; only ps -a shows them.
    std::erase_if(jobs, [](const JobView& job) {
      return job.status == JobStatus::kEnded || job.status == JobStatus::kCleaned;
    });
  }
  if (command.json) {
    // The members say what the notices below do.
    write_all(STDOUT_FILENO, jobs_json(jobs, std::time(nullptr), unreachable));
    return failed;
  }
  // An empty table would say that there are no jobs.
  if (failed != 0 && jobs.empty()) return failed;
  write_all(STDOUT_FILENO,
            jobs_table(jobs, std::time(nullptr), table_columns(command), command.epochs));
  tell_of_shares(jobs);
  if (std::any_of(jobs.begin(), jobs.end(), wants_clean)) {
    log_notice("what lost jobs have left is ended and forgotten with: " + clean_command(jobs));
  }
  return failed;
}

// A line of dtagent --end: "launcher 812 SIGTERM ended".
struct Ended {
  std::string role;
  bool gone = false;
};

std::vector<Ended> parse_ends(const std::string& text) {
  std::vector<Ended> ends;
  for (const std::string& line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 4) ends.push_back({words[0], words[3] == "ended"});
  }
  return ends;
}

// Asks hosts to end their part of a job. Returns their answers; prints errors.
std::vector<Ended> end_on(const std::vector<Host>& hosts, const JobView& job, int signal,
                          const StartOptions& start) {
  std::vector<Ended> all;
  const std::vector<std::string> question = {"--end", job.id, std::to_string(signal)};
  for (const Answer& answer : ask_agents(hosts, runner_by(start), question, kKillPatience)) {
    if (answer.error) log_error(answer.error->what());
    for (Ended& end : parse_ends(answer.text)) all.push_back(std::move(end));
  }
  return all;
}

// ends: not empty. All are from one role: the launcher, or agents.
int report_end(const JobView& job, const std::vector<Ended>& ends, int signal) {
  const bool by_launcher = ends.front().role == "launcher";
  const bool gone = std::all_of(ends.begin(), ends.end(), [](const Ended& e) { return e.gone; });
  const std::string whom = by_launcher ? "its launcher" : "its agents, its launcher being gone";
  log_notice(fmt::format("job {}: {} sent to {}{}", job.id, signal_name(signal), whom,
                         gone ? "; it has ended" : ""));
  // Other signals are for the ranks, and the job may go on.
  const bool must_end = signal == SIGTERM || signal == SIGINT || signal == SIGKILL;
  if (gone || !must_end) return 0;
  log_error(message_text(fmt::format("job {}", job.id), "still ending",
                         fmt::format("dtlaunch kill --signal KILL {}", job.id.substr(0, 4))));
  return static_cast<int>(Exit::kTryAgain);
}

// Whether a job has ended or was lost, so that nothing of it can be ended; if so, says so.
bool is_over(const JobView& job) {
  if (job.status == JobStatus::kEnded) {
    log_notice(
        fmt::format("job {} has ended already, with status {}", job.id, job.record.exit_status));
    return true;
  }
  if (job.status == JobStatus::kCleaned) {
    log_notice(fmt::format(
        "job {} was lost, its launcher having been killed; nothing of it is left", job.id));
    return true;
  }
  return false;
}

// Asks the launcher first, because it ends the job in order on all its hosts. Asks the agents only
// if there is no launcher.
int end_job(const JobView& job, int signal, int failed, const StartOptions& start) {
  auto ends = end_on({launcher_host_of(job)}, job, signal, start);
  // Always SIGTERM: agents take it as the order to end their ranks.
  if (ends.empty() && !job.agents.empty()) ends = end_on(job.agents, job, SIGTERM, start);
  if (!ends.empty()) return report_end(job, ends, signal);
  // No launcher or agent was left, only processes without an agent.
  if (wants_clean(job)) {
    log_notice(fmt::format("job {} is {}: what it left is ended and forgotten with: {}", job.id,
                           job.state, clean_command({job})));
  } else {
    log_notice(fmt::format("nothing of job {} runs any more on the hosts that were asked", job.id));
  }
  return failed;
}

int kill_job(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  const auto jobs = list_jobs(command.hosts, start, &failed);
  const JobView& job = find_job(jobs, command.job);
  return is_over(job) ? 0 : end_job(job, command.signal, failed, start);
}

// Only the launcher knows whether its job waits. It may start while the signal is on its way.
int cancel_job(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  JobView job = find_job(list_jobs(command.hosts, start, &failed), command.job);
  if (!job.launcher_seen) {
    const auto there = list_jobs({launcher_host_of(job)}, start, &failed);
    job = find_job(there, job.id);
  }
  if (is_over(job)) return 0;
  if (job.status == JobStatus::kAlive && job.state == kWaitingState) {
    return end_job(job, SIGTERM, failed, start);
  }
  const std::string id = job.id.substr(0, 4);
  throw file_error("job " + job.id, "",
                   fmt::format("it is {}, and cancel ends only jobs that wait", job.state),
                   wants_clean(job) ? clean_command({job}) : "dtlaunch kill " + id);
}

int clean(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  std::string text;
  for (const Answer& answer :
       ask_agents(command.hosts, runner_by(start), {"--clean"}, kKillPatience)) {
    if (answer.error) {
      log_error(answer.error->what());
      if (failed == 0) failed = static_cast<int>(answer.error->status());
      continue;
    }
    const auto lines = split(trim(answer.text), '\n');
    for (const std::string& line : lines) {
      if (line != "end") text += fmt::format("{}: {}\n", answer.host.name, line);
    }
    // Only the line "end".
    if (lines.size() == 1)
      text += fmt::format("{}: nothing is left of any job\n", answer.host.name);
  }
  write_all(STDOUT_FILENO, text);
  return failed;
}

}  // namespace

std::optional<int> table_columns(const JobsCommand& command) {
  // Readers of a pipe want nothing cut.
  if (command.wide || ::isatty(STDOUT_FILENO) == 0) return std::nullopt;
  return terminal_columns(STDOUT_FILENO);
}

std::vector<HostCores> list_node_cores(const JobsCommand& command, const StartOptions& start,
                                       int* failed, std::vector<Unreachable>* unreachable) {
  std::vector<HostCores> hosts;
  for (Answer& answer : ask_agents(command.hosts, runner_by(start), {"--cores"}, kPatience)) {
    auto cores = parse_node_cores(answer.text);
    if (!cores && !answer.error) {
      answer.error = Error(Exit::kOs, answer.host.name + ": cannot tell who has its cores",
                           "the answer of its dtagent is not a list of cores");
    }
    if (answer.error) {
      log_error(answer.error->what());
      if (*failed == 0) *failed = static_cast<int>(answer.error->status());
      unreachable->push_back({answer.host.name, answer.error->what()});
      continue;
    }
    hosts.push_back({answer.host.name, std::move(*cores)});
  }
  return hosts;
}

std::vector<JobView> list_jobs(const std::vector<Host>& hosts, const StartOptions& start,
                               int* failed, std::vector<Unreachable>* unreachable) {
  const auto note = [&](const Host& host, const std::string& error) {
    if (unreachable != nullptr) unreachable->push_back({host.name, error});
  };
  std::vector<SeenRecord> records;
  for (const Answer& answer : ask_agents(hosts, runner_by(start), {"--jobs"}, kPatience)) {
    if (answer.error) {
      log_error(answer.error->what());
      if (*failed == 0) *failed = static_cast<int>(answer.error->status());
      note(answer.host, answer.error->what());
      continue;
    }
    if (const std::string problem = problem_of_records(answer.text); !problem.empty()) {
      const std::string error = fmt::format("{}: {}", answer.host.name, problem);
      log_error(error);
      note(answer.host, error);
      if (*failed == 0) *failed = static_cast<int>(Exit::kConfig);
    }
    for (SeenRecord& seen : parse_job_list(answer.host, answer.text)) {
      records.push_back(std::move(seen));
    }
  }
  return fold_jobs(records);
}

Host launcher_host_of(const JobView& job) {
  // It has answered under this name. The name in the record may not resolve from here.
  if (job.launcher_seen) return job.asked_launcher_host;
  Host host;
  // This machine needs no login.
  host.name = job.launcher_host == own_host_name() ? "localhost" : job.launcher_host;
  return host;
}

int run_jobs_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start) {
  const JobsCommand command = parse_jobs_command(name, arguments);
  if (command.help) {
    write_all(STDOUT_FILENO, jobs_help(name));
    return 0;
  }
  if (name == "ps") return command.cores ? show_cores(command, start) : list(command, start);
  if (name == "queue") return show_queue(command, start);
  if (name == "cancel") return cancel_job(command, start);
  if (name == "ask") return ask_ranks(command, start);
  if (name == "kill") return kill_job(command, start);
  if (name == "clean") return clean(command, start);
  return name == "logs" ? show_logs(command, start) : attach(command, start);
}

}  // namespace dtl
