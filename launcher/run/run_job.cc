// run_job() determines this process's role in a scheduler's job: waiting for the first node, the
// first node of several, another node, or the only launcher.
#include "launcher/run/run_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/job_record.h"
#include "base/machine/runtime_folder.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/agents/early_agent.h"
#include "launcher/gather/gathered_nodes.h"
#include "launcher/gather/node_role.h"
#include "launcher/history/job_history.h"
#include "launcher/jobs/clean_after_job.h"
#include "launcher/jobs/discover_hosts.h"
#include "launcher/jobs/fence_hosts.h"
#include "launcher/jobs/push_command.h"
#include "launcher/jobs/sweep_here.h"
#include "launcher/jobs/trainer_check.h"
#include "launcher/report/job_events.h"
#include "launcher/report/job_identity.h"
#include "launcher/report/job_watch.h"
#include "launcher/report/metrics_file.h"
#include "launcher/report/plan_json.h"
#include "launcher/report/report_file.h"
#include "launcher/report/series_watch.h"
#include "launcher/request/job_request.h"
#include "launcher/request/pod_keys.h"
#include "launcher/request/scheduler_job.h"
#include "launcher/request/start_checks.h"
#include "launcher/request/waiting.h"
#include "launcher/run/job_agents.h"
#include "launcher/run/signals_after_job.h"
#include "launcher/schedulers/step_node.h"
#include "launcher/schedulers/step_starters.h"
#include "launcher/screen/standard_input.h"
#include "launcher/session/background.h"
#include "launcher/session/epochs.h"
#include "launcher/session/session.h"
#include "launcher/step/agent_step.h"
#include "launcher/trainjob/trainjob_reporter.h"
#include "plan/schedulers/pod_commands.h"

namespace dtl {
namespace {

constexpr std::chrono::seconds kFirstNodePatience{60};  // until its step has come to this node

std::string new_job_id() {
  return to_hex(random_bytes(8, "draw a job id"));
}

SessionOptions session_options(const CommandLine& line, const JobSettings& settings,
                               const Surroundings& around, StartOptions start) {
  // Other ways without file copies (srun, Flux, PBS) refuse --push when their step is planned.
  if (settings.starting.push && !start.carrier.empty()) {
    throw option_error("--push", fmt::format("{} does not copy files to hosts", start.carrier[0]),
                       "dtlaunch in a folder that all hosts see");
  }
  if (settings.starting.push) add_programs(start, settings.request, around);
  check_port_range(settings.request, start, width_of_tree(settings, start));
  SessionOptions options;
  options.job_id = new_job_id();
  options.job = settings.job;
  // Hosts that must wait for their turn to log in have their own time afterwards.
  const std::size_t hosts = std::max<std::size_t>(settings.request.hosts.size(), 1);
  options.job.start_deadline += static_cast<int>((hosts - 1) / kMostLogins) * kSshDeadline;
  options.job.one_sigterm = settings.step.has_value();  // each node hears of it
  // A slow line may need minutes for the programs, which the usual deadline does not allow.
  if (settings.starting.push) options.job.start_deadline = kPushDeadline;
  if (settings.hosts_patience) {
    start.late = std::make_shared<LateHosts>(
        LateHosts::Options{*settings.hosts_patience, describe_pod_command, remark_on_pod});
    // Hosts may arrive at the very end of that time, and then still have to start their agents.
    options.job.start_deadline += *settings.hosts_patience;
  }
  options.dry_run = line.dry_run;
  add_folders(start, options, settings);
  options.start_agent = agent_starter(start, settings.starting.how());
  // Only agents reached by a login can be found by another login.
  if (settings.starting.how().is_ssh() && !start.step) options.find_agent = agent_finder(start);
  options.tree = width_of_tree(settings, start);
  // Nodes of a step would take a launcher stopped by ^Z for a dead one.
  if (start.step) options.before_stop = [step = start.step] { step->about_to_stop(); };
  options.streams = settings.streams;
  options.typed = settings.typed;
  options.container = line.container;
  if (line.json) options.plan_text = plan_answer;
  return options;
}

// Jobs run without a record; the user must know that they cannot be found.
void tell_of_missing_records() {
  const std::string problem = runtime_problem();
  if (!problem.empty()) log_notice("ps, kill and clean do not find this job here: " + problem);
}

// Hosts whose agent died while it had ranks.
std::vector<Host> hosts_of_dead_agents(const SessionResult& result, AgentStart how) {
  std::vector<Host> hosts;
  if (!result.plan) return hosts;
  for (const NodePlan& planned : result.plan->nodes) {
    const auto at = static_cast<std::size_t>(planned.host);
    if (!result.job.nodes[at].agent_failed) continue;
    hosts.push_back(result.hosts[at]);
    if (how.is_fork()) hosts.back().name = "localhost";
  }
  return hosts;
}

RestartOptions restart_options(const JobSettings& settings, const StartOptions& start,
                               const std::string& job_id) {
  RestartOptions restarts;
  restarts.spares = settings.spares;
  // Both outlive run_epochs(), the only caller.
  restarts.fence = [&settings, &start, job_id](std::vector<Host> hosts) {
    if (settings.starting.how().is_fork()) {
      // -launcher fork: agents ran here, whatever the hosts' names.
      for (Host& host : hosts) host.name = "localhost";
    }
    return fence_hosts(hosts, runner_by(start), job_id);
  };
  if (!settings.host_range) return restarts;
  ElasticOptions& elastic = restarts.elastic.emplace();
  elastic.of_ranks = settings.request.placement.rank_range.has_value();
  elastic.range = elastic.of_ranks ? *settings.request.placement.rank_range : *settings.host_range;
  elastic.questions.probe = [&settings, &start](std::vector<Host> hosts, int give_up) {
    if (settings.starting.how().is_fork()) {
      for (Host& host : hosts) host.name = "localhost";
    }
    return probe_hosts(hosts, runner_by(start), give_up);
  };
  if (!settings.discover.empty()) {
    // The command may list hosts outside the allocation.
    elastic.questions.discover = [&settings](int give_up) {
      return within_allocation(settings, discover_hosts(settings.discover, give_up));
    };
  }
  return restarts;
}

JobMetrics first_metrics(const std::string& job_id, const Reporting& reporting) {
  JobMetrics metrics;
  metrics.job_id = job_id;
  metrics.launcher_host = own_host_name();
  metrics.tags = reporting.tags;
  return metrics;
}

HistoryLimits history_limits(const Reporting& reporting, bool dry_run) {
  HistoryLimits limits;
  limits.days = dry_run ? 0 : reporting.history_days.value_or(limits.days);
  limits.bytes = reporting.history_bytes.value_or(limits.bytes);
  return limits;
}

JobResult run_recorded(const Request& request, const SessionOptions& options,
                       const RestartOptions& restarts, JobHistory& history) {
  try {
    return run_epochs(request, options, restarts);
  } catch (const Error& error) {
    history.ended(error);
    throw;
  }
}

void clean_after_dead_agents(const SessionResult& result, AgentStart how, const StartOptions& start,
                             GatheredNodes* nodes, const std::string& job_id) {
  std::vector<Host> dead = hosts_of_dead_agents(result, how);
  // While dtlaunch was stopped, nodes that had connected gave it up and ended their processes.
  const bool was_stopped = result.job.outcome->cause == Cause::kStoppedSelf;
  if (nodes != nullptr && was_stopped) dead = nodes->still_here(std::move(dead));
  clean_after_job(dead, nodes != nullptr ? nodes->runner(start) : runner_by(start), job_id);
}

// nodes: if a scheduler has started the job's nodes; otherwise nullptr.
int run_watched(const JobSettings& settings, SessionOptions options, const StartOptions& start,
                const StartNews& listeners, const std::optional<std::string>& kept_folder,
                GatheredNodes* nodes) {
  const Reporting& reporting = settings.request.reporting;
  const JobRecord record =
      first_record(options.job_id, settings.request, !settings.streams.console.label.empty());
  JobWatch watch(record, kept_folder);
  MetricsFile metrics(options.dry_run ? "" : reporting.metrics_file,
                      first_metrics(options.job_id, reporting));
  JobHistory history(
      record_at_start(record, reporting,
                      {settings.streams.console.log_directory, kept_folder.value_or("")}),
      history_limits(reporting, options.dry_run));
  SeriesWatch curves;
  TrainJobReporter trainjob(options.dry_run ? std::nullopt : TrainJobReporter::server_here());
  options.hooks = trainjob.watching(metrics.watching(
      curves.watching(watch.hooks({listeners.waits, listeners.started, listeners.said}))));
  options.hooks.placed = [&, placed = options.hooks.placed](std::size_t ranks) {
    placed(ranks);
    history.placed(ranks);
  };
  // Processes of jobs that were killed are ended by the next job on the machine.
  std::optional<SweepHere> sweep;
  if (!options.dry_run) sweep.emplace(start);
  RestartOptions restarts = restart_options(settings, start, options.job_id);
  if (nodes != nullptr) nodes->answer_for(restarts, start, options.job_id);
  // First the record, which ps reads, then the events.
  restarts.restarting = [&](int count, const std::vector<Host>& hosts, const Epoch& ended) {
    watch.restarting(count, hosts, ended);
    metrics.restarting(count);
    trainjob.restarting();
  };
  restarts.running_again = [&](JobTime lost) { watch.running_again(lost); };
  JobEvents events(options.dry_run ? Reporting{} : reporting, options.job_id);
  restarts.tell = [&](const JobEvent& event) { events.tell(event); };
  JobResult result = run_recorded(settings.request, options, restarts, history);
  // The session no longer handles signals; without this ^C would end dtlaunch between report and
  // exit.
  SignalsAfterJob signals;
  Outcome& outcome = *result.last.job.outcome;
  if (nodes != nullptr) outcome.exit_status = GatheredNodes::exit_status(outcome);
  int status = outcome.exit_status;
  // Its status is ignored: the user has not asked for this file.
  const JobSeries& series = curves.series();
  if (kept_folder) write_report(*kept_folder + "/" + kKeptReport, record, result, series, status);
  status = write_report(reporting.report, record, result, series, status);
  history.ended(result, status, series);
  watch.ended(status);
  metrics.ended(status);
  trainjob.ended(status);
  signals.leave_with(status);  // hosts and the user's command may take long
  events.finish(result, status);
  clean_after_dead_agents(result.last, settings.starting.how(), start, nodes, options.job_id);
  trainjob.finish();
  // Last, because clean_after_job() still starts dtagent in the step.
  if (start.step) start.step->finish(status);
  return status;
}

int run_detached(const JobInputs& inputs, const JobSettings& settings,
                 const SessionOptions& options, const StartOptions& start) {
  const std::string folder = kept_job_folder(options.job_id);
  // In the foreground, so that errors reach the terminal.
  make_private_folder(folder);
  const auto keep_job = [&](const StartNews& listeners) {
    return run_watched(settings, options, start, listeners, folder, nullptr);
  };
  const std::string id = options.job_id.substr(0, 4);
  const auto tell = [&](const std::string& news) {
    write_all(STDOUT_FILENO, options.job_id + "\n");
    log_notice(news);
  };
  StartCalls calls;
  calls.started = [&] {
    tell(fmt::format("job {0} runs in the background. Its output: dtlaunch logs -f {0}", id));
  };
  calls.waits = [&] {
    tell(
        fmt::format("job {0} waits for cores. Its output, once it runs: dtlaunch logs -f {0}. "
                    "Try: {1}",
                    id, queue_command(inputs.line, settings.request)));
  };
  return run_in_background(keep_job, calls);
}

void check_trainer(const JobInputs& inputs, const Request& request, const Surroundings& around) {
  TrainerCheck check;
  check.folder = around.program_directory;
  check.dry_run = inputs.line.dry_run;
  // A program of the command line comes without the settings in the file.
  if (inputs.file && inputs.line.programs[0].command.empty()) check.trainer = inputs.file->trainer;
  check_trainer_lines(request, check);
}

// Whether the session will start an agent as a child of this process.
bool begins_here(const JobSettings& settings, const StartOptions& start) {
  const std::vector<Host>& hosts = settings.request.hosts;
  if (start.step || !settings.discover.empty()) return false;
  return hosts.empty() || settings.starting.how().is_fork() ||
         std::any_of(hosts.begin(), hosts.end(), is_local);
}

// Such a job may wait for hours before a rank finds that its program is missing.
bool starts_later_here(const CommandLine& line, const JobSettings& settings,
                       const StartOptions& start) {
  if (!line.detach && !settings.request.placement.waits) return false;
  const std::vector<Host>& hosts = settings.request.hosts;
  return begins_here(settings, start) && line.container.empty() &&
         (settings.starting.how().is_fork() || std::all_of(hosts.begin(), hosts.end(), is_local));
}

int run_here(const JobInputs& inputs, GatheredNodes* nodes) {
  const CommandLine& line = inputs.line;
  const Surroundings around = asking_surroundings();
  JobSettings settings = describe_job(inputs, around);
  // So that messages suggest commands that reach the host: a login may not be possible.
  if (nodes != nullptr) nodes->introduce(settings.request.hosts);
  for (const std::string& notice : settings.notices) log_notice(notice);
  for (const std::string& note : settings.notes) {
    if (line.verbosity > 0) log_notice(note);
  }
  check_output_files(line.shown, settings.request.reporting);
  StartOptions start = start_options(settings, around, settings.starting.accept_new_host_keys);
  // The next epoch could not read a pipe again that a rank reads itself.
  const bool input_comes_once = settings.request.max_restarts() == 0;
  // A detached job gives up its standard input when it goes to the background.
  if (settings.streams.stdin_for.mode == InputMode::kOne && !line.detach &&
      can_be_handed_over(STDIN_FILENO, input_comes_once)) {
    start.input = STDIN_FILENO;
  }
  start.early = std::make_shared<EarlyAgent>();
  SessionOptions options = session_options(line, settings, around, start);
  if (!line.dry_run && nodes == nullptr) tell_of_missing_records();
  if (nodes != nullptr) nodes->serve(options, start);
  check_trainer(inputs, settings.request, around);
  if (nodes == nullptr && starts_later_here(line, settings, start)) {
    check_programs_here(settings.request);
  }
  if (line.detach && line.dry_run) {
    log_notice(typed_name(line, "--detach") + ": left out: --dry-run starts nothing");
  }
  if (line.detach && !line.dry_run) return run_detached(inputs, settings, options, start);
  // Last, when nothing keeps the job from starting any more.
  if (nodes == nullptr && begins_here(settings, start)) start_agent_early(start);
  return run_watched(settings, options, start, {}, std::nullopt, nodes);
}

// The first node of a job that a scheduler has started on each node.
int run_with_nodes(JobInputs inputs, const NodeRole& role) {
  CommandLine& line = inputs.line;
  GatheredNodes nodes(role);
  int status = static_cast<int>(Exit::kInternal);
  try {
    GatheredNodes::Gathered all = nodes.gather();
    role.fill_in(line);
    // From here on the user seems to have named the job's hosts.
    line.hosts = std::move(all.hosts);
    line.starting.scheduler = nullptr;  // its hosts are named now
    inputs.evidence = {};
    inputs.nodes = NodesThatCame{role.evidence().scheduler, role.are_tasks()};
    status = line.hosts.empty() ? all.status : run_here(inputs, &nodes);
  } catch (const Error& error) {
    // The other nodes wait for the end, whatever the reason.
    nodes.tell(static_cast<int>(error.status()));
    throw;
  }
  nodes.tell(status);
  return status;
}

int run(JobInputs inputs, const Surroundings& around) {
  const CommandLine& line = inputs.line;
  if (waits_for_first_node(inputs.evidence)) {
    const StepStarterRow* const starter = find_step_starter(inputs.evidence);
    if (starter->check_waiting != nullptr) starter->check_waiting(inputs.line, inputs.evidence);
    return wait_for_first_node(inputs.evidence,
                               line.starting.timeout
                                   ? std::chrono::ceil<std::chrono::seconds>(*line.starting.timeout)
                                   : kFirstNodePatience);
  }
  // nullptr: no scheduler has started a dtlaunch on each node.
  const std::unique_ptr<NodeRole> role = NodeRole::find(inputs, around.environment);
  if (!role) return run_here(inputs, nullptr);
  if (role->coordinates()) return run_with_nodes(std::move(inputs), *role);
  return role->join(around.program_directory + "/dtagent");
}

}  // namespace

int run_job(const CommandLine& line) {
  const Surroundings around = asking_surroundings();
  std::vector<TypedOption> given = line.given;
  try {
    JobInputs inputs = read_job_inputs(line, around);
    given = inputs.line.given;
    return run(std::move(inputs), around);
  } catch (const Error& error) {
    throw as_typed(error, given);
  }
}

}  // namespace dtl
