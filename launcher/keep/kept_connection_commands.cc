// Inside a scheduler's job two holders may exist: one for the job's nodes, in a step, and one for
// ssh. Every command must first choose one.
#include "launcher/keep/kept_connection_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/machine/lost_holders.h"
#include "base/machine/unix_socket.h"
#include "base/text.h"
#include "launcher/agents/kept_connection_client.h"
#include "launcher/keep/kept_connection_holder.h"
#include "launcher/keep/kept_json.h"
#include "launcher/options/subcommand_options.h"
#include "launcher/options/subcommands.h"
#include "launcher/session/background.h"

namespace dtl {
namespace {

std::string help_of(const std::string& name) {
  std::string text = fmt::format("usage: dtlaunch {} [options]\n", name);
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.name == name) text += summary_sentence(subcommand);
  }
  return text + options_text(subcommand_options(name).options());
}

using FindJob = std::function<std::optional<SchedulerJob>()>;

// For commands that do not need a job: a contradictory environment counts as no job.
std::optional<SchedulerJob> job_if_any(const FindJob& find_job) {
  try {
    return find_job();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// True if there was a holder. Its socket is gone when this returns; jobs over its connections keep
// running.
bool send_down(const std::string& job) {
  KeepRequest request;
  request.what = KeepRequest::What::kDown;
  return ask_holder(request, job).starts_with(kKeepYes);
}

// Ends holders without a socket: logging out removes XDG_RUNTIME_DIR and the socket in it. True if
// there were some.
bool tell_of_lost_holders() {
  const auto lost = end_lost_holders();
  for (const LostHolder& holder : lost) {
    log_notice(fmt::format("kept connections whose socket was gone (process {}): {}", holder.pid,
                           holder.ended ? "closed" : "they close when no job uses them any more"));
  }
  return !lost.empty();
}

// In a scheduler's job, lists the job's holder first.
int list_hosts(const std::optional<SchedulerJob>& job, bool as_json) {
  KeepRequest request;
  request.what = KeepRequest::What::kHosts;
  std::string answer, of_job;
  if (job) answer = ask_holder(request, job->job);
  if (answer.starts_with(kKeepYes)) {
    of_job = job->job;
  } else {
    answer = ask_holder(request, {});
  }
  const bool is_kept = answer.starts_with(kKeepYes);
  if (as_json) {
    const std::string lines = is_kept ? answer.substr(std::string(kKeepYes).size()) : "";
    write_all(STDOUT_FILENO, kept_json(of_job, lines));
  }
  if (!is_kept) {
    log_notice(
        message_text("up", "no connection is kept", job ? "dtlaunch up" : "dtlaunch up -f hosts"));
    return 1;
  }
  if (!as_json) write_all(STDOUT_FILENO, answer.substr(std::string(kKeepYes).size()));
  return 0;
}

std::vector<Host> remote_hosts(const SubcommandOptions& options) {
  if (!options.names_hosts()) {
    throw option_error("up",
                       "needs hosts: this is not a job of Slurm, srun is not on PATH, or srun has "
                       "started this dtlaunch",
                       "dtlaunch up -f hosts");
  }
  std::vector<Host> hosts = named_hosts(options);
  // A local agent needs no login.
  std::erase_if(hosts, is_local);
  if (hosts.empty())
    throw option_error("up", "all hosts are this machine, which needs no ssh",
                       "dtlaunch up -f hosts");
  return hosts;
}

int hold(HolderOptions options, const StartNews& news) {
  const auto began = std::chrono::steady_clock::now();
  int status = 0;
  // Called in the background process; `news` sends the lines to the terminal of `dtlaunch up`.
  options.ready = [&](const std::vector<std::optional<Error>>& failures) {
    std::size_t connected = 0;
    for (const auto& failure : failures) {
      if (failure) news.said(failure->what());
      connected += failure ? 0 : 1;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    news.said(fmt::format("{} of {} connected in {:.2f} s{}", connected,
                          plural(failures.size(), "host"), took.count(),
                          connected == 0 ? "; nothing is kept open" : ""));
    if (connected == 0) {
      status = static_cast<int>(failures.front()->status());
      return;
    }
    news.started();
  };
  run_holder(std::move(options));
  return status;
}

int up(const SubcommandOptions& given, StartOptions start, const FindJob& find_job) {
  if (given.json && !given.list) {
    throw option_error("--json", "it goes with --list only", "dtlaunch up --list --json");
  }
  if (given.list) return list_hosts(job_if_any(find_job), given.json);
  // If the command line names no hosts, the job's nodes are kept, so its errors matter.
  std::optional<SchedulerJob> job = given.names_hosts() ? job_if_any(find_job) : find_job();
  if (job && given.names_hosts()) {
    log_notice(
        fmt::format("up: in job {}, agents start by the scheduler, and over these connections "
                    "with -launcher ssh alone; for its own nodes: dtlaunch up",
                    job->job));
    job.reset();
  }
  if (job && given.accept_new_host_keys) {
    throw option_error("--accept-new-host-keys",
                       fmt::format("dtlaunch does not log in to the nodes of job {}", job->job),
                       "dtlaunch up");
  }
  HolderOptions options;
  options.hosts = job ? job->nodes : remote_hosts(given);
  options.idle = given.idle;
  options.start = std::move(start);
  options.start.trust.accept_new_host_keys = given.accept_new_host_keys;
  if (job) {
    options.start.kept_job = job->job;
    options.make_step = job->make_step;
  }
  tell_of_lost_holders();
  send_down(options.start.kept_job);  // the new hosts replace those of the old holder
  // Returns when `news` reports the start; hold() continues in the background process.
  return run_in_background([&](const StartNews& news) { return hold(options, news); }, {});
}

int down(const FindJob& find_job) {
  const std::optional<SchedulerJob> job = job_if_any(find_job);
  const bool lost = tell_of_lost_holders();
  // Ends only one: the job's own holder, or else the one for ssh.
  const bool closed = (job && send_down(job->job)) || send_down({});
  if (lost && !closed) return 0;
  log_notice(closed ? "the kept connections are closed" : "no connection is kept");
  return 0;
}

}  // namespace

int run_keep_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start, const FindJob& find_job) {
  const SubcommandOptions options = parse_subcommand(name, arguments);
  refuse_words(name, options);
  if (options.help) {
    write_all(STDOUT_FILENO, help_of(name));
    return 0;
  }
  return name == "up" ? up(options, start, find_job) : down(find_job);
}

}  // namespace dtl
