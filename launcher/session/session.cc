#include "launcher/session/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/descriptor_limit.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/session/session_shell.h"

namespace dtl {
namespace {

// All bad hosts are named within 10 s of the start of dtlaunch, the slowest included.
constexpr JobTime kStartDeadline = 9500ms;
// Where hosts may come late, one that has come has all the time that it may take to answer.
JobTime least_time_to_greet(const JobOptions& options) {
  return options.start_deadline > JobOptions{}.start_deadline ? JobTime(kHelloDeadline)
                                                              : JobTime(kHeartbeat);
}

std::vector<Host> hosts_of(const Request& request) {
  if (!request.hosts.empty()) return request.hosts;
  Host local;
  local.name = "localhost";
  local.access = request.here;
  return {local};
}

int count_lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n')) +
         (!text.empty() && text.back() != '\n' ? 1 : 0);
}

// However a session ends, nobody reaches it any more.
struct Detached {
  SessionControl* control;
  ~Detached() {
    if (control != nullptr) control->attach({});
  }
};

// Before any host has been spoken to.
void check_descriptors(std::size_t hosts) {
  const std::size_t needed = kOwnDescriptors + kHostDescriptors * hosts;
  const std::size_t most = descriptor_limit();
  if (needed <= most) return;
  throw Error(Exit::kOs,
              hosts == 0 ? "cannot start a job on this machine"
                         : fmt::format("cannot reach {} at once", plural(hosts, "host")),
              fmt::format("dtlaunch needs {} descriptors, and may have {}", needed, most),
              limit_command(EMFILE));
}

}  // namespace

SessionResult run_session(const Request& request, const SessionOptions& options) {
  check_descriptors(request.hosts.size());
  const auto unwritten = std::make_shared<Unwritten>();
  const std::time_t began = std::time(nullptr);
  SessionResult result;
  {
    SessionShell shell(request, options, unwritten);
    result = shell.run();
  }
  result.began = began;
  // The last of the output is written after everything else, when the console is no more.
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    const auto at = static_cast<std::size_t>(stream == Stream::kStderr);
    if (unwritten->bytes[at] == 0) continue;
    result.dropped_bytes += unwritten->bytes[at];
    log_error(fmt::format("{} of standard {} are lost: {}", size_text(unwritten->bytes[at]),
                          at == 0 ? "output" : "error", errno_text(unwritten->first_error[at])));
  }
  int& status = result.job.outcome->exit_status;
  if (status == 0 && unwritten->first_error[0] != 0) status = static_cast<int>(Exit::kIo);
  return result;
}

SessionShell::SessionShell(const Request& request, const SessionOptions& options,
                           std::shared_ptr<Unwritten> unwritten)
    : request_(request),
      options_(options),
      unwritten_(std::move(unwritten)),
      began_(std::chrono::steady_clock::now()),
      interfaces_(request.network.interface),
      tasks_(context_),
      timer_(context_),
      signals_(context_),
      console_({options.output, options.errors}, options.console,
               {[this] { asio::post(context_, [this] { feed(job::OutputClosed{}); }); },
                [this](std::vector<Credit> credits) {
                  asio::post(context_,
                             [this, credits = std::move(credits)] { give_credit(credits); });
                },
                [this](Stream stream, int problem, std::size_t lost) {
                  output_failed(stream, problem, lost);
                }}),
      input_(context_, options.input,
             options.stdin_for.mode == InputMode::kAll ? StandardInput::Ahead::kWindow
                                                       : StandardInput::Ahead::kAsRanksRead,
             [this](Stdin message) { send_input(message); }),
      input_began_(::lseek(options.input, 0, SEEK_CUR)) {
  console_.on_say(options.hooks.said);
  for (Host& host : hosts_of(request)) nodes_.emplace_back().host = std::move(host);
  JobOptions job = options.job;
  job.ending = request.ending;
  job.ports = request.network.ports;
  job_ = make_job(nodes_.size(), job);
  phases_.push_back({JobState::kStarting, JobTime{0}});
}

void SessionControl::attach(Post post) {
  const std::lock_guard lock(mutex_);
  post_ = std::move(post);
}

void SessionControl::say(std::string text) {
  const std::lock_guard lock(mutex_);
  if (post_) post_([text = std::move(text)](SessionShell& shell) { shell.say(text); });
}

void SessionControl::change_hosts() {
  const std::lock_guard lock(mutex_);
  if (post_) post_([](SessionShell& shell) { shell.feed(job::HostsChanged{}); });
}

bool SessionControl::host_goes(std::string host, std::string told_by) {
  const std::lock_guard lock(mutex_);
  if (!post_) return false;
  post_([host = std::move(host), told_by = std::move(told_by)](SessionShell& shell) {
    shell.host_goes(host, told_by);
  });
  return true;
}

SessionResult SessionShell::run() {
  std::exception_ptr fault;
  tasks_.on_failure([&](std::exception_ptr failure) {
    fault = std::move(failure);
    context_.stop();
  });
  tasks_.spawn(watch_signals());
  tasks_.spawn(watch_time());
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) {
    tasks_.spawn(serve(index));
  }
  if (options_.control) {
    options_.control->attach([this](std::function<void(SessionShell&)> call) {
      asio::post(context_, [this, call = std::move(call)] { call(*this); });
    });
  }
  const Detached at_the_end{options_.control.get()};
  context_.run();
  if (fault) std::rethrow_exception(fault);
  signals_.clear();  // from here on ^C ends dtlaunch, even while a stopped pager holds its output
  SessionResult known = result();
  tell_the_end(known);
  return known;
}

JobTime SessionShell::now() const {
  return std::chrono::duration_cast<JobTime>(std::chrono::steady_clock::now() - began_);
}

void SessionShell::host_goes(const std::string& host, const std::string& told_by) {
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) {
    if (host_name(index) == host) return feed(job::ToldToGo{index, told_by});
  }
  // It has no ranks; a job that may be started again does without it.
  if (request_.max_restarts() == 0) return feed(job::ToldToGo{-1, host + ": " + told_by});
  say(fmt::format("{} has to go ({}); it has no ranks", host, told_by));
}

// ---- events

// Effects may cause events; those wait until the effects before them have been performed.
void SessionShell::feed(job::Event event) {
  events_.push_back(std::move(event));
  if (std::exchange(stepping_, true)) return;
  while (!events_.empty()) {
    const job::Event next = std::move(events_.front());
    events_.pop_front();
    const JobState before = job_.state;
    std::vector<job::Effect> effects = step(job_, next, now());
    if (job_.state != before) state_changed(before);
    for (job::Effect& effect : effects) perform(effect);
  }
  stepping_ = false;
  rearm();
  end_if_done();
}

void SessionShell::state_changed(JobState before) {
  phases_.push_back({job_.state, now()});
  if (options_.hooks.state) options_.hooks.state(job_.state);
  log_debug(fmt::format("{:.3f} s: {}", static_cast<double>(now().count()) / 1000,
                        state_name(job_.state)));
  if (before == JobState::kStarting) tell_start_errors();
  if (job_.state == JobState::kPreflight && log_level() >= LogLevel::kVerbose) {
    console_.say(fmt::format("{} up after {:.2f} s", plural(nodes_.size(), "agent"),
                             static_cast<double>(now().count()) / 1000));
  }
  if (job_.state >= JobState::kStopping) {
    console_.stop_waiting();
    input_.stop();
  }
}

void SessionShell::hear(int index, Message message) {
  const auto its_own = [&](std::uint32_t rank) {
    return rank < job_.ranks.size() && job_.ranks[rank].node == index;
  };
  LastWords words = LastWords::kOwn;
  bool ended = false;
  const Overloaded show{
      [&](Output& output) {
        if (!its_own(output.rank) || output.bytes.empty()) return;
        count_output(index, output);
        if (options_.hooks.output) options_.hooks.output(output);
        console_.rank_output(std::move(output), now());
      },
      [&](const Skipped& skipped) {
        if (!its_own(skipped.rank)) return;
        count_skip(skipped);
        console_.rank_skipped(skipped, host_name(index), now());
      },
      [&](const Notice& notice) { show_notice(index, notice.text); },
      [&](const Started& started) {
        if (!its_own(started.rank) || job_.ranks[started.rank].phase != RankPhase::kWaiting) {
          return;
        }
        introduce(started, index);
        if (++started_ == places_.size() && options_.hooks.started) options_.hooks.started();
      },
      [&](const StdinTaken& taken) {
        if (its_own(taken.rank)) input_taken(taken);
      },
      [&](const StdinClosed& closed) {
        if (its_own(closed.rank)) input_closed(closed);
      },
      [&](const Exited& exited) {
        if (!its_own(exited.rank)) return;
        const int rank = static_cast<int>(exited.rank);
        console_.rank_ended(rank);
        words = judge_last_words(console_.last_lines(rank));
        ended = true;
      },
      // The state machine alone takes these.
      [](const OneOf<Hello, Listening, Reached, Examined, SpawnFailed, Finished, Trouble, Evidence,
                     Stack, RankStates, NativeStack, Heartbeat, Resumed, Received, Leaving> auto&) {
      },
      [](const LaunchersMessage auto&) {}};
  std::visit(show, message);
  feed(job::FromAgent{index, std::move(message), words});
  if (ended) count_input();
}

void SessionShell::rearm() {
  JobTime next = next_wakeup(job_);
  if (const auto partial = console_.next_partial_line()) next = std::min(next, *partial);
  const auto when = began_ + next;
  if (when < timer_.expiry()) timer_.cancel();
}

// When the job is done, agents that said Finished get a moment to exit, so that nothing of the
// job is left when dtlaunch ends.
void SessionShell::end_if_done() {
  if (job_.state != JobState::kDone) return;
  const auto leaving = [&](const Node& each) { return each.talking; };
  const bool late = now() >= phases_.back().began + kDrainDeadline;
  if (late || std::none_of(nodes_.begin(), nodes_.end(), leaving)) context_.stop();
}

// ---- tasks

awaitable<void> SessionShell::serve(int index) {
  AgentLink link;
  std::optional<Error> failure;
  try {
    link = co_await bring_up(index);
  } catch (const Error& error) {
    failure = error.attempted().starts_with(host_name(index))
                  ? error
                  : error.with_context(host_name(index));
  }
  if (failure) {
    node(index).start_error = failure;
    feed(job::AgentFailed{index, failure->status()});
    co_return;
  }
  if (const int lines = count_lines(link.noise); lines > 0 && log_level() >= LogLevel::kVerbose) {
    say_about(index, fmt::format("{} of shell start-up noise ignored", plural(lines, "line")));
  }
  node(index).connection = link.connection;
  node(index).stream = link.stream;
  node(index).facts = link.facts;
  expect_losses(index);
  feed(job::AgentReady{index, !node(index).token.empty(), link.stream->is_here()});
  const NodePhase phase = job_.nodes[static_cast<std::size_t>(index)].phase;
  if (phase == NodePhase::kGone) link.connection->close();
  do {
    node(index).talking = true;
    const job::AgentLost lost = co_await converse(index);
    node(index).talking = false;
    feed(lost);
    const bool may_come_back = job_.nodes[static_cast<std::size_t>(index)].link.searching();
    if (!may_come_back) link.connection->close();
  } while (co_await link.connection->wait_attached());
}

awaitable<AgentLink> SessionShell::bring_up(int index) {
  auto stream = co_await options_.start_agent(context_, node(index).host);
  Welcome welcome;
  welcome.launcher_version = DTL_VERSION;
  welcome.job_id = options_.job_id;
  welcome.host_name = host_name(index);
  welcome.launcher_host = own_host_name();
  const auto deadline = std::max(began_ + kStartDeadline, std::chrono::steady_clock::now() +
                                                              least_time_to_greet(options_.job));
  co_return co_await greet_agent(context_, tasks_, node(index).host, std::move(stream),
                                 std::move(welcome), deadline);
}

awaitable<void> SessionShell::watch_time() {
  for (;;) {
    JobTime next = next_wakeup(job_);
    if (job_.state == JobState::kDone) next = phases_.back().began + kDrainDeadline;
    if (const auto partial = console_.next_partial_line()) next = std::min(next, *partial);
    timer_.expires_at(began_ + next);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    console_.show_partial_lines(now());
    feed(job::Tick{});
  }
}

awaitable<void> SessionShell::watch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) signals_.add(signal);
  // Under nohup the job outlives the terminal; without job control nobody would wake us up again.
  for (const int signal : {SIGHUP, SIGTSTP}) {
    if (!is_ignored(signal)) signals_.add(signal);
  }
  for (;;) {
    const int signal = co_await signals_.async_wait(asio::use_awaitable);
    feed(job::Signalled{signal});
  }
}

// ^Z: the ranks have been told to stop. Stops this process once that is on its way; after SIGCONT
// the job goes on.
awaitable<void> SessionShell::stop_self() {
  constexpr auto kLook = 5ms;
  const auto sent = [](const Node& each) {
    return !each.connection || each.connection->queued_bytes() == 0;
  };
  asio::steady_timer look(context_);
  const auto until = std::chrono::steady_clock::now() + JobTime(kHeartbeat);
  while (!std::all_of(nodes_.begin(), nodes_.end(), sent) &&
         std::chrono::steady_clock::now() < until) {
    look.expires_after(kLook);
    co_await look.async_wait(asio::use_awaitable);
  }
  if (options_.before_stop) options_.before_stop();
  ::raise(SIGSTOP);
  feed(job::Continued{});
}

awaitable<void> SessionShell::forward_input() {
  co_await input_.run();
}

}  // namespace dtl
