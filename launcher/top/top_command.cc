#include "launcher/top/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/log.h"
#include "launcher/history/history_store.h"
#include "launcher/jobs/job_hosts.h"
#include "launcher/jobs/jobs_commands.h"
#include "launcher/options/output_choice.h"
#include "launcher/screen/output_writer.h"
#include "launcher/screen/terminal_color.h"
#include "launcher/top/live_view.h"
#include "launcher/top/top_text.h"

namespace dtl {
namespace {

constexpr std::chrono::milliseconds kPeriod{2000}, kSample{1000};  // if the user names none

LiveWish wish_of(const JobsCommand& command, ColorMode color) {
  LiveWish wish;
  const bool on_terminal = can_move_cursor(STDOUT_FILENO);
  if (command.json && !command.once) {
    wish.show = LiveWish::Show::kLines;
  } else if (!command.once && on_terminal) {
    wish.show = LiveWish::Show::kTerminal;
  }
  wish.json = command.json;
  wish.color = wants_color(color, STDOUT_FILENO);
  wish.columns = table_columns(command);
  wish.period = wish.show == LiveWish::Show::kOnce ? kSample : kPeriod;
  if (command.period_s > 0) {
    wish.period = std::chrono::milliseconds(std::llround(command.period_s * 1000));
  }
  wish.follow_launchers = command.job.empty() && !command.names_hosts();
  return wish;
}

// Those on which the job runs, and its launcher's.
std::vector<Host> watched_hosts_of(const JobsCommand& command, const JobView& job) {
  std::vector<Host> hosts = hosts_of_job(command, job);
  const Host launcher = launcher_host_of(job);
  const bool known = std::any_of(hosts.begin(), hosts.end(), [&](const Host& host) {
    return host.name == launcher.name || (is_local(host) && is_local(launcher));
  });
  if (!known) hosts.push_back(launcher);
  return hosts;
}

// How the job ended, as far as this machine or its launcher's knows.
std::string ending_of(const JobView& job, const StartOptions& start) {
  const Host launcher = launcher_host_of(job);
  int failed = 0;
  for (const JobView& seen : list_jobs({launcher}, start, &failed)) {
    if (seen.id == job.id && seen.status == JobStatus::kEnded) {
      return fmt::format("has ended, with status {}", seen.record.exit_status);
    }
  }
  if (is_local(launcher)) {
    const auto history = HistoryStore::for_reading(history_path());
    const auto record = history ? history->read(job.id) : std::nullopt;
    if (record && status_of(*record) == HistoryStatus::kEnded) {
      return fmt::format("has ended, with status {}", record->exit_status);
    }
    return "has ended";
  }
  return fmt::format("has ended; on {}, its record: dtlaunch show {}", launcher.name,
                     job.id.substr(0, 4));
}

}  // namespace

int run_top_command(const std::vector<std::string>& arguments, const Variables& environment,
                    const StartOptions& start) {
  const JobsCommand command = parse_jobs_command("top", arguments);
  if (command.help) {
    write_all(STDOUT_FILENO, jobs_help("top"));
    return 0;
  }
  LiveWish wish = wish_of(command, wanted_color(command.color, environment));
  std::vector<Host> hosts = command.hosts;
  // This machine, under a name that says more than "localhost".
  if (!command.names_hosts()) hosts[0].name = own_host_name(), hosts[0].here = true;
  std::optional<JobView> job;
  if (!command.job.empty()) {
    int failed = 0;
    job = whole_job(command, start, &failed);
    check_runs(*job, "cannot watch it");
    wish.job_id = job->id;
    hosts = watched_hosts_of(command, *job);
  }
  // A reader that has seen enough, such as head, ends this quietly.
  if (wish.show == LiveWish::Show::kLines) std::signal(SIGPIPE, SIG_DFL);
  LiveView view(wish, start);
  view.run(hosts);
  if (!view.job_is_over()) return view.status();
  if (view.last_view() && wish.show == LiveWish::Show::kTerminal) {
    TopPage page;
    page.columns = terminal_columns(STDOUT_FILENO);
    page.color = wish.color;
    write_all(STDOUT_FILENO, top_text(*view.last_view(), page));
  }
  log_notice(fmt::format("job {} {}", job->id, ending_of(*job, start)));
  return 0;
}

}  // namespace dtl
