// What happens comes in by feed(), as an event; what the supervisor wants done goes out by
// perform(). No other code here decides what becomes of ranks. Frames that do not concern that,
// such as Stdin and Credit, go straight to the part that they are for.
#include "agent/job/session.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "agent/node/nics.h"
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
      keeper_(::getppid()),
      connection_(context_, make_fd_stream(context_, std::move(input), std::move(output)),
                  std::move(received)),
      tasks_(context_),
      reconnection_(context_, tasks_, connection_, [this] { feed(LauncherHeard{}); }),
      guard_(context_, tasks_, connection_,
             {[this](const GuardReport& report) { hear_guard(report); },
              [this](const Event& event) { feed(event); }}),
      streams_(context_, tasks_, connection_, std::move(launcher.input),
               [this](std::uint32_t rank) { feed(OutputEnded{rank}); }),
      starter_(own_folder_, record_.job_id, guard_.link(), streams_, witness_,
               [this](const GuardReport& failed) { feed(failed); }),
      running_(context_, tasks_, connection_, supervisor_),
      stacks_(context_, connection_, running_, streams_, witness_),
      clock_(context_),
      signals_(context_) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    // With --unsignalled they are ignored, and a handler would undo that.
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
  // Until leave() or a failed task stops it.
  context_.run();
  guard_.link().close();  // it exits while we tidy up
  return exit_.value_or(Exit::kInternal);
}

awaitable<void> AgentSession::read_frames(NodeFacts facts) {
  try {
    std::optional<Message> message = co_await connection_.receive();
    if (message) welcome(*message, std::move(facts));
    while (message) {
      message = co_await reconnection_.receive();
      if (message) dispatch(std::move(*message));
    }
  } catch (const Error& error) {
    log_error(error.what());
    // Garbage ends the conversation, and the launcher should hear why, if it is one.
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

awaitable<void> AgentSession::watch_clock() {
  for (;;) {
    const BootTime at = now();
    if (at >= next_heartbeat_) {
      next_heartbeat_ = at + kHeartbeat;
      guard_.tick(supervisor_);
      // Without the keeper nobody would end what is left if the guard and this agent were killed.
      if (::getppid() != keeper_) feed(KeeperGone{keeper_});
      running_.look_for_stopped();
      witness_.look();
      // Nothing goes out before Hello but the greeting (wire/PROTOCOL.md).
      if (node_) connection_.send(Heartbeat{static_cast<std::uint64_t>(at.count())});
    }
    // A parent that runs and had no CPU time is not away (--child).
    if (is_launcher_silent(supervisor_, at) && launcher_ != 0 &&
        process_state(launcher_) == ProcessState::kRuns) {
      feed(LauncherHeard{});
    }
    if (at >= due(supervisor_)) feed(TimePassed{});
    const BootTime wake = std::min(next_heartbeat_, due(supervisor_));
    // feed() wakes it when a deadline comes nearer. At least 1 ms, so that it never spins.
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

awaitable<void> AgentSession::ask_ranks(AskRanks order) {
  co_await stacks_.ask(order);
  feed(RanksAnswered{});
}

// Gives the last messages a moment to leave.
awaitable<void> AgentSession::leave() {
  connection_.finish();
  // A launcher that reads nothing must not keep us.
  asio::steady_timer deadline(context_, kDrainDeadline);
  deadline.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled) context_.stop();
  });
  co_await connection_.wait_below(1);
  context_.stop();
}

void AgentSession::welcome(const Message& message, NodeFacts facts) {
  const auto* welcome = std::get_if<Welcome>(&message);
  // Anything else is a launcher of another protocol, or not one at all.
  if (welcome == nullptr) unexpected(message);
  record_.job_id = welcome->job_id;
  record_.launcher_host = welcome->launcher_host;
  node_.emplace(context_, tasks_, connection_, own_folder_, welcome->job_id,
                public_addresses(facts.nics));
  node_->sweep();
  feed(LauncherHeard{});
  connection_.send(Hello{std::move(facts)});
}

void AgentSession::start(Start start) {
  starter_.check(start);
  // A job with many ranks comes in several Start messages.
  record_.ranks += static_cast<int>(start.ranks.size());
  if (record_.command.empty() && !start.ranks.empty()) {
    record_.role = "agent";
    // `dtlaunch ps` shows it, so values that look like secrets are masked.
    record_.command = join(masked_arguments(start.ranks.front().arguments, {}), " ");
    record_.since = std::time(nullptr);
    record_.state = "running";
  }
  record_file_.write(record_);
  feed(std::move(start));
}

void AgentSession::dispatch(Message message) {
  feed(LauncherHeard{});
  const Overloaded handle{
      [&](Environment& environment) { starter_.add(std::move(environment)); },
      [&](Start& ranks) { start(std::move(ranks)); },
      [&](const OneOf<Stop, Kill, Signal, Finish, WatchRanks> auto& order) { feed(order); },
      [&](const Stdin& input) { streams_.give_input(input); },
      [&](const Listen& listen) {
        node_->listen(listen);
        asio::post(context_, [this] { start_guard(); });  // while the launcher makes its plan
      },
      [&](const StopListening&) { node_->stop_listening(); },
      [&](const Reach& wanted) { node_->reach(wanted); },
      [&](const Examine& question) { node_->examine(question); },
      [&](const OutputRules& rules) { streams_.set_rules(rules); },
      [&](const Credit& credit) { streams_.give_credit(credit); },
      [&](const Reconnect& agreed) {
        if (reconnection_.agree(agreed)) feed(agreed);
      },
      [&](const WatchNotices& order) { node_->watch_for_notices(order.cloud); },
      [](const OneOf<Heartbeat, Received> auto&) {},
      [&](const Resume&) { unexpected(message); },
      [&](const Welcome&) { unexpected(message); },
      [&](const AgentsMessage auto&) { unexpected(message); }};
  std::visit(handle, message);
}

// The start blocks until the kernel has loaded the guard. So it comes when the launcher is busy
// with its plan, and at the latest when the guard has something to do. False: it cannot be started,
// and the launcher has been told.
bool AgentSession::start_guard() {
  if (guard_.link().is_open()) return true;
  // The agent is leaving; a guard that is started now would find nothing to do.
  if (exit_) return false;
  try {
    guard_.start(own_folder_, launcher_ != 0);
  } catch (const Error& error) {
    log_error(error.what());
    connection_.send(Trouble{error.what()});
    exit_ = error.status();
    tasks_.spawn(leave());
    return false;
  }
  return true;
}

void AgentSession::hear_guard(const GuardReport& report) {
  // Before the event, whose effect may be Exited: StdinClosed and Evidence have to come before
  // that.
  if (report.news == GuardNews::kExited && streams_.ended(report.rank)) {
    running_.ended(report.rank);
    if (auto testimony = witness_.ended(report)) connection_.send(std::move(*testimony));
  }
  feed(report);
  // After the event, whose effect is Started: output is read from here on, and must not come
  // before.
  if (report.news == GuardNews::kStarted && streams_.started(report.rank)) {
    running_.started(report.rank, static_cast<pid_t>(report.pid));
    witness_.started(report.rank, static_cast<pid_t>(report.pid));
    starter_.started(report.rank);
  }
}

void AgentSession::feed(const Event& event) {
  for (const Effect& effect : step(supervisor_, event, now())) perform(effect);
  // Without a launcher nobody takes the output; ranks must not wait for that.
  if (supervisor_.leave == Exit::kUnreachable) connection_.close();
  if (supervisor_.leave) reconnection_.end();
  // The clock's sleep may be longer than the new deadline allows.
  if (BootTime(due(supervisor_)) < next_heartbeat_) clock_.cancel();
}

void AgentSession::perform(const Effect& effect) {
  const bool by_guard =
      std::holds_alternative<SpawnRank>(effect) || std::holds_alternative<SignalRanks>(effect) ||
      std::holds_alternative<PassSignal>(effect) || std::holds_alternative<KillByGuard>(effect);
  if (by_guard && !start_guard()) return;
  const Overloaded carry_out{
      [&](const SpawnRank& rank) { starter_.spawn(rank); },
      [&](const AskRanks& order) { tasks_.spawn(ask_ranks(order)); },
      [&](const ReportRanks& order) { running_.report(BootTime(order.period_ms)); },
      [&](const SignalRanks& order) {
        witness_.tell_grace(order.grace);
        if (order.signal != 0) guard_.link().signal_ranks(order.signal);
      },
      [&](const PassSignal& order) { guard_.link().pass_signal(order.signal); },
      [&](const KillByGuard&) { guard_.link().kill(); },
      // Blocks, and may: nothing else is left to do before the exit.
      [&](const KillByOwnHand&) { end_descendants((now() + kReapDeadline).count(), nullptr); },
      [&](const SendMessage& sent) {
        // The supervisor is pure and cannot look at the program's file.
        const auto* failed = std::get_if<SpawnFailed>(&sent.message);
        connection_.send(failed != nullptr ? Message(starter_.explained(*failed)) : sent.message);
      },
      [&](const ExitAgent& last) {
        exit_ = last.status;
        tasks_.spawn(leave());
      }};
  std::visit(carry_out, effect);
}

}  // namespace dtl
