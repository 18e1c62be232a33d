// feed() passes events to the supervisor, which decides about ranks; perform() carries out its
// effects. Frames that do not concern it, such as Stdin, go straight to the part that handles them.
#include "agent/job/session.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "agent/node/detect.h"
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

// PyTorch's import alone takes several times as long.
constexpr std::chrono::milliseconds kBeforePyTorch{100};

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
      reconnection_(
          context_, tasks_, connection_, [this] { feed(LauncherHeard{}); },
          [this](Message message) { act_on(std::move(message)); }),
      guard_(context_, tasks_, connection_,
             {[this](const GuardReport& report) { hear_guard(report); },
              [this](const Event& event) { feed(event); }}),
      streams_(context_, tasks_, connection_, std::move(launcher.input),
               [this](std::uint32_t rank) { feed(OutputEnded{rank}); }),
      pmi_(context_, tasks_, connection_),
      pmix_(context_, tasks_, connection_,
            {[this] { act_on_held(); },
             [this](const std::string& why) { end_ranks(PmixGone{why}); }}),
      container_(context_, tasks_, own_folder_),
      starter_(own_folder_, record_.job_id, guard_.link(), streams_, witness_,
               {pmi_, pmix_, container_}, [this](const GuardReport& failed) { feed(failed); }),
      running_(context_, tasks_, connection_, supervisor_),
      stacks_(context_, connection_, running_, streams_, witness_),
      clock_(context_),
      signals_(context_) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    // With --unsignalled they are ignored; a handler would undo that.
    if (!is_ignored(signal)) signals_.add(signal);
  }
  supervisor_.heard = now();
}

Exit AgentSession::run(std::optional<NodeFacts> known) {
  NodeFacts facts = known ? std::move(*known) : detect_beside_guard();
  // A task fails only through a bug; the guard cleans up when the agent exits.
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
  // Runs until leave() or a failed task stops it.
  context_.run();
  guard_.link().close();  // the guard exits while we clean up
  pmix_.end();
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
    // Garbage ends the conversation; a real launcher should hear the reason.
    connection_.send(Trouble{error.what()});
  }
  feed(LauncherGone{});
}

awaitable<void> AgentSession::write_frames() {
  try {
    co_await connection_.run_writer();
  } catch (const Error&) {
    feed(LauncherGone{});  // nobody is left to tell
  }
}

awaitable<void> AgentSession::watch_clock() {
  for (;;) {
    const BootTime at = now();
    if (at >= next_heartbeat_) {
      next_heartbeat_ = at + kHeartbeat;
      guard_.tick(supervisor_);
      if (cores_) cores_->answer();
      if (line_) {
        line_->pause(supervisor_.paused);
        line_->answer();
      }
      pmix_.tick();
      // If guard and agent were killed, only the keeper could end what is left.
      if (::getppid() != keeper_) feed(KeeperGone{keeper_});
      running_.look_for_stopped();
      witness_.look();
      // Only the greeting is sent before Hello (wire/PROTOCOL.md).
      if (node_) reconnection_.beat(at);
    }
    // A parent that runs without CPU time has not gone (--child).
    if (is_launcher_silent(supervisor_, at) && launcher_ != 0 &&
        process_state(launcher_) == ProcessState::kRuns) {
      feed(LauncherHeard{});
    }
    if (at >= due(supervisor_)) feed(TimePassed{});
    const BootTime wake = std::min(next_heartbeat_, due(supervisor_));
    // feed() wakes it if a deadline gets nearer. At least 1 ms, so that it never spins.
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

// Later than the start, which it would delay, but before a rank can have loaded PyTorch.
awaitable<void> AgentSession::note_old_connections() {
  asio::steady_timer timer(context_, kBeforePyTorch);
  co_await timer.async_wait(asio::use_awaitable);
  witness_.note_old_connections();
}

// Gives the last messages a moment to be sent.
awaitable<void> AgentSession::leave() {
  if (exit_ != Exit::kUnreachable) co_await reconnection_.wait_for_children();
  connection_.finish();
  // A launcher that does not read must not delay our exit.
  asio::steady_timer deadline(context_, kDrainDeadline);
  deadline.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled) context_.stop();
  });
  co_await connection_.wait_below(1);
  co_await reconnection_.flush();
  context_.stop();
}

void AgentSession::welcome(const Message& message, NodeFacts facts) {
  const auto* welcome = std::get_if<Welcome>(&message);
  // The peer speaks another protocol or is not a launcher.
  if (welcome == nullptr) unexpected(message);
  record_.job_id = welcome->job_id;
  record_.launcher_host = welcome->launcher_host;
  node_.emplace(context_, tasks_, connection_, container_, own_folder_, welcome->job_id,
                public_addresses(facts.nics));
  node_->sweep();
  feed(LauncherHeard{});
  cores_.emplace(welcome->job_id, facts.topology.allowed);
  line_.emplace(context_, tasks_, welcome->job_id, facts.topology,
                [this](CoresSeen seen) { connection_.send(std::move(seen)); });
  facts.claims = line_->taken();
  connection_.send(Hello{std::move(facts)});
}

void AgentSession::start(Start start) {
  starter_.check(start);
  // The ranks of a large job take several Start messages.
  record_.ranks += static_cast<int>(start.ranks.size());
  if (record_.command.empty() && !start.ranks.empty()) {
    record_.role = "agent";
    // `dtlaunch ps` shows it, so values that look like secrets are masked. Quoted, so that a user
    // can paste it into a shell.
    record_.command = join(shown_arguments(start.ranks.front().arguments, {}), " ");
    record_.since = std::time(nullptr);
    record_.state = "running";
  }
  record_file_.write(record_);
  feed(std::move(start));
}

// `dtlaunch ps` and `cancel` find a job that waits on any of its hosts.
void AgentSession::wait_in_line(TakeTicket order) {
  cores_->release();  // a job holds no cores while it waits
  if (record_.role.empty()) {
    record_.role = "agent";
    record_.since = std::time(nullptr);
    record_.state = kWaitingState;
    record_file_.write(record_);
  }
  connection_.send(line_->take(std::move(order)));
}

void AgentSession::claim(const ClaimCores& order) {
  CoresClaimed claimed = cores_->claim(order);
  if (claimed.taken) {
    claimed.claims = line_->taken();
  } else {
    line_->leave();
  }
  connection_.send(std::move(claimed));
}

void AgentSession::serve_pmix(const ServePmix& job) {
  pmix_.serve(job, {own_folder_, node_->pmix_libraries(), record_.job_id, !node_->needs_pmix()},
              node_->open_mpi_prefix());
}

// Ranks that are held back are answered as any that come after this order.
void AgentSession::end_ranks(const Event& order) {
  feed(order);
  act_on_held();
}

void AgentSession::act_on_held() {
  for (Message& message : std::exchange(held_, {})) act_on(std::move(message));
}

void AgentSession::dispatch(Message message) {
  feed(LauncherHeard{});
  // Only what concerns the ranks themselves waits, so that they find it as if they had started.
  const bool must_wait = std::holds_alternative<Start>(message) ||
                         std::holds_alternative<Stdin>(message) ||
                         std::holds_alternative<Signal>(message);
  if (!pmix_.is_starting() || !must_wait) return act_on(std::move(message));
  if (const auto* ranks = std::get_if<Start>(&message)) starter_.check(*ranks);
  held_.push_back(std::move(message));
}

void AgentSession::act_on(Message message) {
  const Overloaded handle{
      [&](Environment& environment) { starter_.add(std::move(environment)); },
      [&](Start& ranks) { start(std::move(ranks)); },
      [&](const OneOf<Stop, Kill, Finish> auto& order) { end_ranks(order); },
      [&](const OneOf<Signal, WatchRanks> auto& order) { feed(order); },
      [&](const Stdin& input) { streams_.give_input(input); },
      [&](const Listen& listen) {
        node_->listen(listen);
        asio::post(context_, [this] { start_guard(); });  // while the launcher plans
      },
      [&](const StopListening&) { node_->stop_listening(); },
      [&](const Reach& wanted) { node_->reach(wanted); },
      [&](const Examine& question) { node_->examine(question); },
      [&](const ClaimCores& order) { claim(order); },
      [&](TakeTicket& order) { wait_in_line(std::move(order)); },
      [&](OneOf<ServePmi, PmiFenced> auto& part) { pmi_.take(std::move(part)); },
      [&](const ServePmix& job) { serve_pmix(job); },
      [&](OneOf<PmixFenced, PmixWanted, PmixGiven> auto& part) { pmix_.send(std::move(part)); },
      [&](const OutputRules& rules) { streams_.set_rules(rules); },
      [&](const Credit& credit) { streams_.give_credit(credit); },
      [&](const Reconnect& agreed) {
        if (reconnection_.agree(agreed)) feed(agreed);
      },
      [&](const WatchNotices& order) { node_->watch_for_notices(order.cloud); },
      [](const OneOf<Heartbeat, Received> auto&) {},
      [&](OneOf<JoinTree, Relayed, SharedFrame, PieceGiven> auto& part) {
        reconnection_.take(std::move(part));
      },
      [&](const OneOf<Welcome, Resume> auto&) { unexpected(message); },
      [&](const AgentsMessage auto&) { unexpected(message); }};
  std::visit(handle, message);
}

// Both take a millisecond or more, on two cores.
NodeFacts AgentSession::detect_beside_guard() {
  try {
    guard_.start(own_folder_, launcher_ != 0);
  } catch (const Error&) {
    // start_guard() tries again, and tells the launcher; that must not happen before Hello.
  }
  return detect_node();
}

// The start blocks until the kernel has loaded the guard. So it happens while facts are detected;
// if they were known, while the launcher plans, and at the latest when the guard has work. False:
// it cannot be started, and the launcher was told.
bool AgentSession::start_guard() {
  if (guard_.link().is_open()) return true;
  // The agent is leaving, so a guard would have no work.
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
  // Before the event, whose effect may be Exited: these messages must precede it.
  if (report.news == GuardNews::kExited && streams_.ended(report.rank)) {
    pmi_.ended(report);
    pmix_.ended(report);
    running_.ended(report.rank);
    if (auto testimony = witness_.ended(report)) connection_.send(std::move(*testimony));
  }
  feed(report);
  // After the event, whose effect is Started: Output must not be sent before it.
  if (report.news == GuardNews::kStarted && streams_.started(report.rank)) {
    running_.started(report.rank, static_cast<pid_t>(report.pid));
    witness_.started(report.rank, static_cast<pid_t>(report.pid));
    pmi_.started(report.rank, static_cast<pid_t>(report.pid));
    if (report.rank == 0) tasks_.spawn(note_old_connections());
    starter_.started(report.rank);
  }
}

void AgentSession::feed(const Event& event) {
  for (const Effect& effect : step(supervisor_, event, now())) perform(effect);
  // Without a launcher nobody takes the output; ranks must not wait for that.
  if (supervisor_.leave == Exit::kUnreachable) connection_.close();
  if (supervisor_.leave) reconnection_.end();
  // The clock may be sleeping beyond the new deadline.
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
      [&](const KillByGuard&) {
        guard_.link().kill();
        pmix_.close();
      },
      // May block: only the exit is left to do.
      [&](const KillByOwnHand&) { end_descendants((now() + kReapDeadline).count(), nullptr); },
      [&](const SendMessage& sent) {
        // Nothing of the job is left here, and the next job may start as soon as dtlaunch has
        // ended.
        if (std::holds_alternative<Finished>(sent.message) && cores_) {
          line_->leave();
          cores_->release();
          container_.end();
        }
        // The supervisor is pure and cannot read the program's file.
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
