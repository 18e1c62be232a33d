// The order of ways to a host: the scheduler's step if it takes the host, then a local start on
// this machine, then the scheduler's carrier, then ssh.
#include "launcher/run/job_agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/sha256.h"
#include "launcher/agents/bundle.h"
#include "launcher/agents/carried_agent.h"
#include "launcher/agents/push_feeds.h"
#include "launcher/jobs/discover_hosts.h"
#include "launcher/request/pod_keys.h"
#include "launcher/request/scheduler_job.h"
#include "launcher/schedulers/job_token.h"
#include "launcher/schedulers/step_starters.h"
#include "launcher/step/agent_step.h"
#include "launcher/sync/folder_sync.h"
#include "plan/request/tree_width.h"

namespace dtl {
namespace {

constexpr std::size_t kPlaceDigits = 16;  // of a folder's name in a host's cache

// Whether `dtlaunch up` can keep agents there. Tasks end with the dtlaunch that started them, and a
// dtlaunch that waits beside a step waits for the step's end.
bool can_be_kept(const StepPlan& plan) {
  return plan.is_one_step() && plan.beside.empty();
}

std::shared_ptr<AgentStep> step_of(const StepPlan& plan, const JobSettings& settings,
                                   const Surroundings& around, StepNews news = {}) {
  AgentStepOptions options;
  options.nodes = plan.nodes;
  options.only = plan.is_one_step();  // tasks do not run on this host
  options.job = plan.job;
  options.ports = settings.request.network.ports;
  // Removes DTL_TOKEN from the environment, so no rank inherits it. Without one the step generates
  // its own.
  options.token = take_job_token().value_or("");
  options.patience = plan.patience;
  options.told_to_end = std::move(news.told_to_end);
  options.over = std::move(news.over);
  return std::make_shared<AgentStep>(make_step_starter(plan, around), std::move(options));
}

// Shared by all hosts of the job; null if nothing must travel.
std::shared_ptr<FolderSync> folders_of(const JobSettings& settings, const StartOptions& start) {
  const CodeFolders& asked = settings.folders;
  if (asked.empty()) return nullptr;
  if (start.step || !start.carrier.empty()) {
    throw option_error(asked.synced.empty() ? "--venv" : "--sync",
                       "this job's hosts are not reached over ssh, so nothing can be copied there",
                       "the same command without it, in a folder that all hosts see");
  }
  const std::vector<Host>& hosts = settings.request.hosts;
  const bool here_only =
      settings.starting.how().is_fork() ||
      (settings.discover.empty() && std::all_of(hosts.begin(), hosts.end(), is_local));
  if (here_only) return nullptr;
  std::vector<FolderSync::Folder> folders;
  if (!asked.synced.empty()) {
    FolderSync::Folder& code = folders.emplace_back();
    code.wish = {"--sync " + asked.synced, asked.synced,    true, true,
                 kMostSyncBytes,           kMostSyncEntries};
    // The environment has its own list.
    if (asked.venv.starts_with(asked.synced + "/")) {
      code.wish.skipped.push_back(asked.venv.substr(asked.synced.size() + 1));
    }
    const std::string key =
        sha256_hex(own_host_name() + " " + asked.synced).substr(0, kPlaceDigits);
    code.elsewhere =
        fmt::format("synced-{}-{}", asked.synced.substr(asked.synced.rfind('/') + 1), key);
  }
  if (!asked.venv.empty()) {
    FolderSync::Folder& venv = folders.emplace_back();
    venv.wish = {"--venv " + asked.venv, asked.venv,      false, false,
                 kMostVenvBytes,         kMostVenvEntries};
    venv.python = asked.python;
    venv.python_version = asked.python_version;
  }
  return std::make_shared<FolderSync>(std::move(folders));
}

}  // namespace

StartOptions start_options(const Surroundings& around, bool accept_new_host_keys) {
  StartOptions start;
  start.agent_path = around.program_directory + "/dtagent";
  start.trust.accept_new_host_keys = accept_new_host_keys;
  start.trust.pod_keys = pod_keys_of_launcher(around.environment);
  return start;
}

StartOptions start_options(const JobSettings& settings, const Surroundings& around,
                           bool accept_new_host_keys) {
  StartOptions start = start_options(around, accept_new_host_keys);
  start.carrier = settings.carrier;
  // Found when the scheduler was read; not searched again.
  start.trust.pod_keys = settings.pod_keys;
  // The user's service runs outside the scheduler's job: its agents would escape the job's limits.
  start.service = settings.scheduler == nullptr;
  if (!settings.step) return start;
  start.step = step_of(*settings.step, settings, around);
  if (can_be_kept(*settings.step)) start.kept_job = settings.step->job;
  return start;
}

void add_programs(StartOptions& start, const Request& request, const Surroundings& around) {
  const auto runs_trainer = [](const Program& program) {
    return runs_pushed_trainer(program.command);
  };
  start.bundles =
      load_bundles(around.program_directory,
                   std::any_of(request.programs.begin(), request.programs.end(), runs_trainer));
  start.feeds = make_push_feeds(request.hosts, request.network.ports);
}

void check_port_range(const Request& request, const StartOptions& start, std::optional<int> tree) {
  const bool seeds = start.feeds != nullptr;
  constexpr int kTested = 2;
  const PortRange ports = request.network.ports;
  const auto hosts = request.hosts.size();
  const auto width = static_cast<std::size_t>(tree.value_or(kTreeWidth));
  const bool in_tree = width > 0 && hosts > width && (tree || hosts > kFlatHosts);
  const int needed = kTested + (seeds ? 1 : 0) + (in_tree ? 1 : 0);
  if (ports.high == 0 || needed == kTested || ports.high - ports.low + 1 >= needed) return;
  const std::string_view why = !in_tree ? "--push" : seeds ? "--push and --tree" : "--tree";
  const int low = std::min(static_cast<int>(ports.low), 65536 - needed);
  throw option_error(fmt::format("--port-range {}:{}", ports.low, ports.high),
                     fmt::format("too few: with {}, each host needs {} ports", why, needed),
                     fmt::format("--port-range {}:{}", low, low + needed - 1));
}

void add_folders(StartOptions& start, SessionOptions& options, const JobSettings& settings) {
  const std::shared_ptr<FolderSync> folders = folders_of(settings, start);
  if (!folders) return;
  for (const std::string& notice : folders->notices()) log_notice(notice);
  for (const std::string& line : folders->summaries()) {
    if (options.dry_run) {
      log_notice(line + "; --dry-run brings nothing to hosts");
    } else {
      log_verbose(line);
    }
  }
  if (!options.dry_run) start.folders = folders;
  options.job.start_deadline = std::max<JobTime>(options.job.start_deadline, kSyncDeadline);
  options.place_on = [folders](const std::string& host, const std::string& path) {
    return folders->place_on(host, path);
  };
}

Surroundings asking_surroundings() {
  Surroundings around = current_surroundings();
  around.discover = [](const std::string& what) { return discover_hosts(what); };
  around.ask_tool = ask_tool;
  return around;
}

std::optional<SchedulerJob> find_scheduler_job() {
  const Surroundings around = asking_surroundings();
  const JobSettings settings = settings_of_scheduler(around);
  if (!settings.step || !can_be_kept(*settings.step)) return std::nullopt;
  SchedulerJob job;
  job.job = settings.step->job;
  job.nodes = settings.step->nodes;
  job.make_step = [settings, around](StepNews news) {
    return step_of(*settings.step, settings, around, std::move(news));
  };
  return job;
}

AgentStarter agent_starter(const StartOptions& start, AgentStart how) {
  return [start, how](asio::io_context& context, Host host) {
    if (start.step && start.step->takes(host)) {
      return start_step_agent(context, std::move(host), start);
    }
    if (how.is_fork() || is_local(host)) return start_local_agent(context, start);
    return start.carrier.empty() ? start_ssh_agent(context, std::move(host), start)
                                 : start_carried_agent(context, std::move(host), start);
  };
}

// Only an agent that a login finds again can leave the stream of its login.
std::optional<int> width_of_tree(const JobSettings& settings, const StartOptions& start) {
  const std::vector<Host>& hosts = settings.request.hosts;
  const bool here_only =
      settings.discover.empty() && std::all_of(hosts.begin(), hosts.end(), is_local);
  const bool logs_in =
      settings.starting.how().is_ssh() && !start.step && start.carrier.empty() && !here_only;
  if (logs_in) return settings.starting.tree;
  if (settings.starting.tree.value_or(0) == 0) return 0;
  throw option_error("--tree", "no host of this job is reached over ssh", "--tree 0");
}

AgentFinder agent_finder(const StartOptions& start) {
  return [start](asio::io_context& context, Host host, std::string link, Resume offer,
                 std::chrono::steady_clock::time_point deadline) {
    return rejoin_agent(context, std::move(host), start, std::move(link), std::move(offer),
                        deadline);
  };
}

}  // namespace dtl
