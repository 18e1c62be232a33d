#include "launcher/jobs/jobs_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/agents/agent_query.h"
#include "launcher/screen/output_writer.h"

namespace dtl {
namespace {

constexpr auto kPatience = kHelloDeadline;
// What dtagent --end waits for, and its way back.
constexpr auto kKillPatience = kKillGrace + kReapDeadline + kAnswerMargin + kHelloDeadline;

int list(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  std::vector<JobView> jobs = list_jobs(command.hosts, start, &failed);
  if (!command.all) {
    std::erase_if(jobs, [](const JobView& job) { return job.status == JobStatus::kEnded; });
  }
  write_all(STDOUT_FILENO, jobs_table(jobs, std::time(nullptr), terminal_columns(STDOUT_FILENO)));
  const auto dead = [](const JobView& job) { return job.status == JobStatus::kLeftover; };
  if (std::any_of(jobs.begin(), jobs.end(), dead)) {
    log_notice("what is left over can be ended with: dtlaunch clean");
  }
  return failed;
}

// "launcher 812 SIGTERM ended" of dtagent --end.
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

// Asks hosts to end their part of a job; what they say.
std::vector<Ended> end_on(const std::vector<Host>& hosts, const JobView& job, int signal,
                          const StartOptions& start) {
  std::vector<Ended> all;
  const std::vector<std::string> question = {"--end", job.id, std::to_string(signal)};
  for (const Answer& answer : ask_agents(hosts, start, question, kKillPatience)) {
    if (answer.error) log_error(answer.error->what());
    for (Ended& end : parse_ends(answer.text)) all.push_back(std::move(end));
  }
  return all;
}

int report_end(const JobView& job, const std::vector<Ended>& ends, int signal) {
  const bool by_launcher = ends.front().role == "launcher";
  const bool gone = std::all_of(ends.begin(), ends.end(), [](const Ended& e) { return e.gone; });
  const std::string whom = by_launcher ? "its launcher" : "its agents, its launcher being gone";
  log_notice(fmt::format("job {}: {} sent to {}{}", job.id, signal_name(signal), whom,
                         gone ? "; it has ended" : ""));
  const bool must_end = signal == SIGTERM || signal == SIGINT || signal == SIGKILL;
  if (gone || !must_end) return 0;
  log_error(fmt::format("job {} is still ending. Try: dtlaunch kill --signal KILL {}", job.id,
                        job.id.substr(0, 4)));
  return static_cast<int>(Exit::kTryAgain);
}

int kill_job(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  const auto jobs = list_jobs(command.hosts, start, &failed);
  const JobView& job = find_job(jobs, command.job);
  if (job.status == JobStatus::kEnded) {
    log_notice(fmt::format("job {} has ended already, with status {}", job.id, job.exit_status));
    return 0;
  }
  auto ends = end_on({launcher_host_of(job)}, job, command.signal, start);
  if (ends.empty() && !job.agents.empty()) ends = end_on(job.agents, job, SIGTERM, start);
  if (!ends.empty()) return report_end(job, ends, command.signal);
  log_notice(
      fmt::format("nothing of job {} runs any more on the hosts that were asked; what it "
                  "left can be ended with: dtlaunch clean",
                  job.id));
  return failed;
}

int clean(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  std::string text;
  for (const Answer& answer : ask_agents(command.hosts, start, {"--clean"}, kKillPatience)) {
    if (answer.error) {
      log_error(answer.error->what());
      if (failed == 0) failed = static_cast<int>(answer.error->status());
      continue;
    }
    const auto lines = split(trim(answer.text), '\n');
    for (const std::string& line : lines) {
      if (line != "end") text += fmt::format("{}: {}\n", answer.host.name, line);
    }
    if (lines.size() == 1)
      text += fmt::format("{}: nothing is left of any job\n", answer.host.name);
  }
  write_all(STDOUT_FILENO, text);
  return failed;
}

}  // namespace

std::vector<JobView> list_jobs(const std::vector<Host>& hosts, const StartOptions& start,
                               int* failed) {
  std::vector<SeenRecord> records;
  for (const Answer& answer : ask_agents(hosts, start, {"--jobs"}, kPatience)) {
    if (answer.error) {
      log_error(answer.error->what());
      if (*failed == 0) *failed = static_cast<int>(answer.error->status());
      continue;
    }
    for (SeenRecord& seen : parse_job_list(answer.host, answer.text)) {
      records.push_back(std::move(seen));
    }
  }
  return fold_jobs(records);
}

Host launcher_host_of(const JobView& job) {
  if (job.launcher_seen) return job.asked_launcher_host;
  Host host;
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
  if (name == "ps") return list(command, start);
  if (name == "kill") return kill_job(command, start);
  if (name == "clean") return clean(command, start);
  return name == "logs" ? show_logs(command, start) : attach(command, start);
}

}  // namespace dtl
