#include "agent/job/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "agent/cloud/notice_watch.h"
#include "agent/node/examine.h"
#include "agent/node/find_files.h"
#include "agent/node/nics.h"
#include "agent/node/run_program.h"
#include "agent/processes/kill_tree.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/process_id.h"
#include "base/signal_disposition.h"
#include "base/text.h"
#include "plan/request/command_text.h"
#include "wire/fd_stream.h"

namespace dtl {
namespace {

BootTime now() {
  return BootTime(boot_time_ms());
}

[[noreturn]] void unexpected(const Message& message) {
  throw Error(Exit::kVersion, "unexpected message", message_name(message));
}

}  // namespace

AgentSession::AgentSession(std::string own_folder, Fd input, Fd output, std::string received,
                           LocalLauncher launcher)
    : own_folder_(std::move(own_folder)),
      launcher_(launcher.process),
      launchers_input_(std::move(launcher.input)),
      connection_(context_, make_fd_stream(context_, std::move(input), std::move(output)),
                  std::move(received)),
      guard_(context_),
      tasks_(context_),
      clock_(context_),
      signals_(context_),
      keeper_(::getppid()) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    if (!is_ignored(signal)) signals_.add(signal);
  }
  supervisor_.heard = now();
}

Exit AgentSession::run(NodeFacts facts) {
  // A task that fails is a mistake of ours; the guard cleans up when the agent exits.
  tasks_.on_failure([this](std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      log_error(error.what());
    }
    exit_ = Exit::kInternal;
    context_.stop();
  });
  tasks_.spawn(read_frames(std::move(facts)));
  tasks_.spawn(write_frames());
  tasks_.spawn(watch_clock());
  tasks_.spawn(watch_signals());
  context_.run();
  guard_.close();  // it exits while we tidy up
  return exit_.value_or(Exit::kInternal);
}

awaitable<void> AgentSession::read_frames(NodeFacts facts) {
  try {
    std::optional<Message> message = co_await connection_.receive();
    if (message) welcome(*message, std::move(facts));
    while (message) {
      message = co_await next_message();
      if (message) dispatch(std::move(*message));
    }
  } catch (const Error& error) {
    log_error(error.what());
    connection_.send(Trouble{error.what()});
  }
  feed(LauncherGone{});
}

awaitable<void> AgentSession::write_frames() {
  try {
    co_await connection_.run_writer();
  } catch (const Error&) {
    feed(LauncherGone{});  // nobody is there to be told why
  }
}

awaitable<void> AgentSession::read_guard() {
  for (;;) {
    const std::optional<GuardReport> report = co_await guard_.receive();
    if (!report) break;
    if (report->news == GuardNews::kAlive) continue;
    if (report->news == GuardNews::kExited) note_end(*report);
    feed(*report);
    if (report->news == GuardNews::kStarted) note_start(*report);
  }
  feed(GuardGone{});
}

// Its output is read from here on, so that Started is told before.
void AgentSession::note_start(const GuardReport& report) {
  const auto at = streams_.find(report.rank);
  if (at == streams_.end() || at->second.pid != 0) return;
  RankStreams& streams = at->second;
  streams.pid = report.pid;
  if (report.rank == 0) meeting_->started(static_cast<pid_t>(report.pid));
  streams.programs.clear();
  tasks_.spawn(forward(*streams.output, std::move(streams.output_pipe), report.rank));
  tasks_.spawn(forward(*streams.errors, std::move(streams.errors_pipe), report.rank));
}

void AgentSession::note_end(const GuardReport& report) {
  const auto at = streams_.find(report.rank);
  if (at == streams_.end()) return;
  at->second.pid = 0;
  at->second.observer.reset();
  if (at->second.input) at->second.input->close();
  if (report.code == 0 && report.signal == 0) {
    if (report.rank != 0) return;
    if (const auto line = meeting_->ended()) connection_.send(Notice{*line});
    return;
  }
  const Evidence evidence =
      witness_->about(report.rank, report.signal == SIGKILL, report.max_rss_kib);
  if (evidence.oom_kills > 0 || !evidence.error_file.empty()) connection_.send(evidence);
}

// Ticks are counted rather than time, which goes on where the whole machine is stopped. A guard
// that runs and had no time is waited for, unless it has to end the ranks.
void AgentSession::tick_guard() {
  if (guard_.unanswered_ticks() >= guard_patience(supervisor_) / kHeartbeat) {
    const bool stopped = process_state(guard_.process()) == ProcessState::kStopped;
    if (stopped || supervisor_.state == AgentState::kKilling) {
      return feed(GuardSilent{guard_.process(), stopped});
    }
    if (!std::exchange(guard_is_late_, true)) {
      connection_.send(
          Notice{fmt::format("dtguard (process {}) runs, but had no time for {} s; it "
                             "is waited for",
                             guard_.process(), guard_.unanswered_ticks())});
    }
    return;
  }
  guard_.tick();
}

// Once a second; a debugger's or a test's brief stop is not worth a word, and one of ours neither.
void AgentSession::look_for_stopped_ranks() {
  constexpr int kLooks = 3;  // 2 s
  for (auto& [rank, streams] : streams_) {
    const bool expected = supervisor_.paused || supervisor_.state == AgentState::kAsking;
    const bool stopped = streams.pid != 0 && !expected &&
                         process_state(static_cast<pid_t>(streams.pid)) == ProcessState::kStopped;
    streams.stopped_looks = stopped ? std::min(streams.stopped_looks + 1, kLooks + 1) : 0;
    if (streams.stopped_looks != kLooks) continue;
    connection_.send(Notice{"rank " + std::to_string(rank) +
                            " is stopped (state T); it goes on after: kill -CONT " +
                            std::to_string(streams.pid)});
  }
}

awaitable<void> AgentSession::watch_clock() {
  for (;;) {
    const BootTime at = now();
    if (at >= next_heartbeat_) {
      next_heartbeat_ = at + kHeartbeat;
      if (guard_.is_open()) tick_guard();
      look_for_keeper();
      look_for_stopped_ranks();
      if (meeting_) meeting_->look();
      if (listener_) connection_.send(Heartbeat{static_cast<std::uint64_t>(at.count())});
    }
    // A parent that had no time is not away.
    if (is_launcher_silent(supervisor_, at) && launcher_ != 0 &&
        process_state(launcher_) == ProcessState::kRuns) {
      feed(LauncherHeard{});
    }
    if (at >= due(supervisor_)) feed(TimePassed{});
    const BootTime wake = std::min(next_heartbeat_, due(supervisor_));
    clock_.expires_after(std::max(wake - now(), BootTime(1)));
    boost::system::error_code woken;
    co_await clock_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

awaitable<void> AgentSession::watch_signals() {
  for (;;) {
    const int signal = co_await signals_.async_wait(asio::use_awaitable);
    feed(Terminated{signal});
  }
}

awaitable<void> AgentSession::forward(RankOutput& output, Fd pipe, std::uint32_t rank) {
  co_await output.forward(context_, std::move(pipe));
  if (--streams_[rank].open_outputs == 0) feed(OutputEnded{rank});
}

awaitable<void> AgentSession::feed_input(std::uint32_t rank) {
  co_await streams_[rank].input->run();
}

awaitable<void> AgentSession::reach(Reach wanted) {
  const Reached reached = co_await reach_all(context_, std::move(wanted), job_id_);
  connection_.send(reached);
}

// The clock and libraries at once; everything else takes its time on a thread of its own, one at a
// time.
void AgentSession::examine(const Examine& question) {
  const auto& parameters = question.parameters;
  const auto asks_for = [&](std::string_view what) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const Fact& fact) { return fact.name == "what" && fact.value == what; });
  };
  if (asks_for("clock")) return connection_.send(Examined{examine_clock()});
  if (asks_for("libraries")) return connection_.send(find_libraries(question));
  examiner_ = std::jthread([this, parameters] {
    Examined examined{examine_node(parameters)};
    asio::post(context_, [this, examined = std::move(examined)] { connection_.send(examined); });
  });
}

// What killed launchers and agents have left here, when nobody could do anything about it.
void AgentSession::sweep() {
  if (dead_jobs(records_here()).empty()) return;
  sweeper_ = std::jthread([this] {
    constexpr std::size_t kMostBytes = 64 << 10;
    const ProgramOutput swept = run_program({own_folder_ + "/dtagent", "--sweep"},
                                            kKillGrace + kReapDeadline + kAnswerMargin, kMostBytes);
    for (const std::string& line : split(swept.text, '\n')) {
      const bool says = line.starts_with("ended ") || line.starts_with("cannot ");
      if (!says) continue;
      asio::post(context_, [this, line = printable(line)] { connection_.send(Notice{line}); });
    }
  });
}

// Nobody would end what the ranks leave if the guard and we were killed, too.
void AgentSession::look_for_keeper() {
  if (::getppid() != keeper_) feed(KeeperGone{keeper_});
}

void AgentSession::watch_for_notices(Cloud cloud) {
  if (std::exchange(watches_cloud_, true)) return;
  NoticeListeners listeners;
  listeners.leaving = [this](const CloudNotice& notice) {
    connection_.send(Leaving{notice.told_by, static_cast<std::uint32_t>(notice.left.count())});
  };
  listeners.say = [this](const std::string& text) { connection_.send(Notice{text}); };
  tasks_.spawn(watch_notices(context_, cloud, metadata_service(), std::move(listeners)));
}

// Gives the last messages a moment to leave.
awaitable<void> AgentSession::leave() {
  connection_.finish();
  asio::steady_timer deadline(context_, kDrainDeadline);
  deadline.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled) context_.stop();
  });
  co_await connection_.wait_below(1);
  context_.stop();
}

void AgentSession::welcome(const Message& message, NodeFacts facts) {
  const auto* welcome = std::get_if<Welcome>(&message);
  if (welcome == nullptr) unexpected(message);
  job_id_ = welcome->job_id;
  record_.job_id = job_id_;
  record_.launcher_host = welcome->launcher_host;
  sweep();
  listener_.emplace(context_, job_id_, public_addresses(facts.nics));
  feed(LauncherHeard{});
  connection_.send(Hello{std::move(facts)});
}

void AgentSession::start(Start start) {
  for (const RankSpec& rank : start.ranks) environments_.lines(rank.environment);  // may refuse
  record(start);
  feed(std::move(start));
}

void AgentSession::dispatch(Message message) {
  feed(LauncherHeard{});
  const Overloaded handle{
      [&](Environment& environment) { environments_.add(std::move(environment)); },
      [&](Start& ranks) { start(std::move(ranks)); },
      [&](const OneOf<Stop, Kill, Signal, Finish, WatchRanks> auto& order) { feed(order); },
      [&](const Stdin& input) { give_input(input); },
      [&](const Listen& listen) {
        connection_.send(listener_->open(tasks_, listen));
        asio::post(context_, [this] { start_guard(); });  // while the launcher makes its plan
      },
      [&](const StopListening&) { listener_->close(); },
      [&](const Reach& wanted) { tasks_.spawn(reach(wanted)); },
      [&](const Examine& question) { examine(question); },
      [&](const OutputRules& rules) { rules_ = rules; },
      [&](const Credit& credit) {
        const auto at = streams_.find(credit.rank);
        if (at != streams_.end()) at->second.credit->give_back(credit.bytes);
      },
      [&](const Reconnect& agreed) { expect_losses(agreed); },
      [&](const WatchNotices& order) { watch_for_notices(order.cloud); },
      [](const OneOf<Heartbeat, Received> auto&) {},
      [&](const Resume&) { unexpected(message); },
      [&](const Welcome&) { unexpected(message); },
      [&](const AgentsMessage auto&) { unexpected(message); }};
  std::visit(handle, message);
}

// Until the kernel has loaded the guard we wait: hence when there is time, and at the latest when
// it has something to do. False when it cannot be had, which has been told then.
bool AgentSession::start_guard() {
  if (guard_.is_open()) return true;
  if (exit_) return false;
  try {
    guard_.open(dtl::start_guard(own_folder_));
    if (launcher_ != 0) guard_.wait_for_agent();
  } catch (const Error& error) {
    log_error(error.what());
    connection_.send(Trouble{error.what()});
    exit_ = error.status();
    tasks_.spawn(leave());
    return false;
  }
  tasks_.spawn(read_guard());
  tasks_.spawn(guard_.run_writer());
  return true;
}

void AgentSession::feed(const Event& event) {
  for (const Effect& effect : step(supervisor_, event, now())) perform(effect);
  // Without a launcher nobody takes the output; ranks must not wait for that.
  if (supervisor_.leave == Exit::kUnreachable) connection_.close();
  if (supervisor_.leave && door_) door_->close();  // it does not go on, whoever comes
  if (BootTime(due(supervisor_)) < next_heartbeat_) clock_.cancel();
}

void AgentSession::perform(const Effect& effect) {
  const bool by_guard =
      std::holds_alternative<SpawnRank>(effect) || std::holds_alternative<SignalRanks>(effect) ||
      std::holds_alternative<PassSignal>(effect) || std::holds_alternative<KillByGuard>(effect);
  if (by_guard && !start_guard()) return;
  const Overloaded carry_out{
      [&](const SpawnRank& rank) { spawn(rank); },
      [&](const AskRanks& order) { tasks_.spawn(ask_ranks(order)); },
      [&](const ReportRanks& order) {
        report_period_ = BootTime(order.period_ms);
        if (order.period_ms > 0 && !std::exchange(reports_, true)) tasks_.spawn(report_ranks());
      },
      [&](const SignalRanks& order) {
        if (witness_) witness_->tell_grace(order.grace);
        if (order.signal != 0) guard_.signal_ranks(order.signal);
      },
      [&](const PassSignal& order) { guard_.pass_signal(order.signal); },
      [&](const KillByGuard&) { guard_.kill(); },
      [&](const KillByOwnHand&) { end_descendants((now() + kReapDeadline).count(), nullptr); },
      [&](const SendMessage& sent) {
        const auto* failed = std::get_if<SpawnFailed>(&sent.message);
        connection_.send(failed != nullptr ? Message(explained(*failed)) : sent.message);
      },
      [&](const ExitAgent& last) {
        exit_ = last.status;
        tasks_.spawn(leave());
      }};
  std::visit(carry_out, effect);
}

void AgentSession::record(const Start& start) {
  record_.ranks += static_cast<int>(start.ranks.size());
  if (record_.command.empty() && !start.ranks.empty()) {
    record_.role = "agent";
    record_.command = join(masked_arguments(start.ranks.front().arguments, {}), " ");
    record_.since = std::time(nullptr);
    record_.state = "running";
  }
  record_file_.write(record_);
}

}  // namespace dtl
