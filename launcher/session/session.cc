// The console, the credit and the input handle a message before the state machine does; see hear().
#include "launcher/session/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/descriptor_limit.h"
#include "base/text.h"
#include "launcher/session/card_facts.h"
#include "launcher/session/fold_notices.h"
#include "launcher/session/session_shell.h"

namespace dtl {
namespace {

std::vector<Host> hosts_of(const Request& request) {
  if (!request.hosts.empty()) return request.hosts;
  Host local;
  local.name = "localhost";
  local.access = request.here;
  return {local};
}

// Runs after the last output of the ranks.
void tell_the_end(Console& console, const SessionNodes& nodes, const SessionResult& known) {
  console.finish();
  for (const SessionNode& node : nodes) {
    const auto left_out = static_cast<std::int64_t>(node.notices.left_out());
    if (left_out == 0) continue;
    console.say(
        fmt::format("{}: {} of its agent left out", node.host.name, plural(left_out, "notice")));
  }
  if (known.dropped_bytes > 0) {
    console.say(fmt::format("{} of output were not shown: nobody read them in time",
                            size_text(known.dropped_bytes)));
  }
  if (known.lost_input_bytes > 0) {
    console.say(
        fmt::format("{} of standard input were read but not used by any rank, and are lost; "
                    "--stdin none avoids this",
                    size_text(known.lost_input_bytes)));
  }
  const std::string card = failure_card(*known.job.outcome, card_facts(known), console.columns());
  if (!card.empty()) console.say_card(card);
}

// The next time at which something is due even without an event.
JobTime next_event(const Job& job, const Console& console) {
  const auto partial = console.next_partial_line();
  return partial ? std::min(next_wakeup(job), *partial) : next_wakeup(job);
}

// Runs before dtlaunch contacts any host.
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
  // The rest of the output is written last, when the console is gone.
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
      tasks_(context_),
      timer_(context_),
      signals_(context_),
      // The console calls back on its writers' threads.
      console_({options.output, options.errors}, options.streams.console,
               {[this] { asio::post(context_, [this] { feed(job::OutputClosed{}); }); },
                [this](std::vector<Credit> credits) {
                  asio::post(context_,
                             [this, credits = std::move(credits)] { credit_.give_back(credits); });
                },
                [this](Stream stream, int problem, std::size_t lost) {
                  const auto line = unwritten_->add(stream, problem, lost, now());
                  if (line) asio::post(context_, [this, text = *line] { console_.say(text); });
                }}),
      credit_(console_, job_, nodes_),
      input_(context_, options, job_, nodes_),
      planning_(request, options, job_, nodes_, console_),
      conversations_(context_, tasks_, request, options, job_, nodes_,
                     {[this](job::Event event) { feed(std::move(event)); },
                      [this](int node, Message message) {
                        const LastWords words = hear(node, message);
                        const bool ended = std::holds_alternative<Exited>(message);
                        feed(job::FromAgent{node, std::move(message), words});
                        if (ended) input_.count();
                      },
                      [this](int node, const std::string& text) { say_about(node, text); }}) {
  console_.on_say(options.hooks.said);
  for (Host& host : hosts_of(request)) nodes_.emplace_back().host = std::move(host);
  JobOptions job = options.job;
  job.ending = request.ending;
  job.wait_limit = request.placement.wait_limit;
  job.ports = request.network.ports;
  job_ = make_job(nodes_.size(), job);
  phases_.push_back({JobState::kStarting, JobTime{0}});
}

SessionResult SessionShell::run() {
  std::exception_ptr fault;
  tasks_.on_failure([&](std::exception_ptr failure) {
    fault = std::move(failure);
    context_.stop();
  });
  tasks_.spawn(watch_signals());
  tasks_.spawn(watch_time());
  conversations_.begin();
  const SessionControl::Attached reachable(
      options_.control.get(), [this](std::function<void(SessionShell&)> call) {
        asio::post(context_, [this, call = std::move(call)] { call(*this); });
      });
  context_.run();
  if (fault) std::rethrow_exception(fault);
  signals_.clear();  // from here on ^C ends dtlaunch, even while a stopped pager holds its output
  SessionResult known = result();
  tell_the_end(console_, nodes_, known);
  return known;
}

SessionResult SessionShell::result() {
  SessionResult result;
  result.ended = now();
  for (const SessionNode& each : nodes_) {
    result.hosts.push_back(each.host);
    result.facts.push_back(each.facts);
  }
  if (job_.outcome) result.last_lines = console_.last_lines(job_.outcome->rank);
  result.lines_shown = job_.outcome && console_.shows_errors(job_.outcome->rank);
  result.network = planning_.network_reasons();
  result.messages = console_.messages();
  result.dropped_bytes = console_.dropped_bytes();
  input_.finish(result);
  result.phases = phases_;
  result.plan = planning_.take_plan();
  result.job = std::move(job_);
  return result;
}

JobTime SessionShell::now() const {
  return std::chrono::duration_cast<JobTime>(std::chrono::steady_clock::now() - began_);
}

void SessionShell::host_goes(const std::string& host, const std::string& told_by) {
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) {
    const Host& known = nodes_[static_cast<std::size_t>(index)].host;
    if (known.name == host) return feed(job::ToldToGo{index, told_by});
  }
  // The host has no ranks; a job that may restart goes on without it.
  if (request_.max_restarts() == 0) return feed(job::ToldToGo{-1, host + ": " + told_by});
  say(fmt::format("{} has to go ({}); it has no ranks", host, told_by));
}

// ---- events

// An effect may cause an event; it waits until the earlier effects have been performed.
void SessionShell::feed(job::Event event) {
  events_.push_back(std::move(event));
  if (std::exchange(stepping_, true)) return;
  while (!events_.empty()) {
    const job::Event next = std::move(events_.front());
    events_.pop_front();
    const JobState before = job_.state;
    std::vector<job::Effect> effects = fold_notices(step(job_, next, now()), nodes_);
    if (job_.state != before) state_changed(before);
    for (job::Effect& effect : effects) perform(effect);
  }
  stepping_ = false;
  if (began_ + next_event(job_, console_) < timer_.expiry()) timer_.cancel();
  // Agents that sent Finished get a moment to exit, so nothing of the job is left when dtlaunch
  // ends.
  if (job_.state != JobState::kDone) return;
  const bool late = now() >= phases_.back().began + kDrainDeadline;
  if (late || conversations_.talking() == 0) context_.stop();
}

void SessionShell::state_changed(JobState before) {
  phases_.push_back({job_.state, now()});
  if (options_.hooks.state) options_.hooks.state(job_.state);
  log_debug(fmt::format("{:.3f} s: {}", static_cast<double>(now().count()) / 1000,
                        state_name(job_.state)));
  if (before == JobState::kStarting) {
    for (const std::string& line : fold_start_errors(nodes_)) console_.say(line);
  }
  if (before == JobState::kStarting && log_level() >= LogLevel::kVerbose) {
    console_.say(fmt::format("{} up after {:.2f} s", plural(nodes_.size(), "agent"),
                             static_cast<double>(now().count()) / 1000));
  }
  if (job_.state >= JobState::kStopping) {
    console_.stop_waiting();
    input_.stop();
  }
}

// Shows messages to the user before the state machine gets them. When a rank has ended, returns
// whether its last words blame itself or another rank.
LastWords SessionShell::hear(int index, Message& message) {
  const auto its_own = [&](std::uint32_t rank) {
    return rank < job_.ranks.size() && job_.ranks[rank].node == index;
  };
  SessionNode& node = nodes_[static_cast<std::size_t>(index)];
  LastWords words = LastWords::kOwn;
  const Overloaded show{
      [&](Output& output) {
        if (!its_own(output.rank) || output.bytes.empty()) return;
        credit_.count(index, output);
        if (options_.hooks.output) options_.hooks.output(output);
        console_.rank_output(std::move(output), now());
      },
      [&](const Skipped& skipped) {
        if (!its_own(skipped.rank)) return;
        credit_.count(skipped);
        console_.rank_skipped(skipped, node.host.name, now());
      },
      [&](const Notice& notice) {
        if (const auto shown = node.notices.admit(notice.text, now())) say_about(index, *shown);
      },
      [&](const Started& started) {
        if (!its_own(started.rank) || job_.ranks[started.rank].phase != RankPhase::kWaiting) {
          return;
        }
        if (auto facts = planning_.describe(started, node.host.name)) {
          console_.set_rank(static_cast<int>(started.rank), std::move(*facts));
        }
        if (++started_ == planning_.ranks() && options_.hooks.started) options_.hooks.started();
      },
      [&](const StdinTaken& taken) {
        if (its_own(taken.rank)) input_.taken(taken);
      },
      [&](const StdinClosed& closed) {
        if (its_own(closed.rank)) input_.closed(closed);
      },
      [&](const Exited& exited) {
        if (!its_own(exited.rank)) return;
        const int rank = static_cast<int>(exited.rank);
        console_.rank_ended(rank);
        words = judge_last_words(console_.last_lines(rank));
      },
      [&](const CoresClaimed& claimed) {
        if (claimed.taken) node.facts->claims = claimed.claims;  // for the next plan
      },
      [&](const CoresSeen& seen) { node.facts->claims = seen.claims; },
      [&](const RankStates& states) {
        for (const RankReport& report : states.ranks)
          if (options_.hooks.seen && its_own(report.rank)) options_.hooks.seen(report);
      },
      // Only the state machine handles these.
      [](const OneOf<Hello, Listening, Reached, Examined, SpawnFailed, Finished, Trouble, Evidence,
                     Stack, NativeStack, Heartbeat, Resumed, Received, Leaving, PmiFence, MpiNews,
                     PmixReady, PmixFence, PmixWanted, PmixGiven, TreeJoined, Relayed,
                     PieceWanted> auto&) {},
      [](const LaunchersMessage auto&) {}};
  std::visit(show, message);
  return words;
}

// ---- effects

// If something cannot be planned or sent, the job is refused.
template <typename Do>
void SessionShell::unless_refused(Do act) {
  try {
    act();
  } catch (const Error& error) {
    feed(planning_.refusal(error));
  }
}

void SessionShell::perform(job::Effect& effect) {
  const Overloaded act{
      [&](job::Send& order) { send_to(nodes_, order.node, std::move(order.message)); },
      [&](const job::SendToMany& order) { conversations_.send_to_many(order); },
      [&](const job::PlaceRanks&) {
        unless_refused([&] {
          job::Placed placed = planning_.place();
          console_.set_ranks(planning_.ranks());
          if (options_.hooks.placed) options_.hooks.placed(planning_.ranks());
          feed(std::move(placed));
        });
      },
      [&](const job::Probe& order) { unless_refused([&] { planning_.probe(order.round); }); },
      [&](const job::JudgeNetwork&) { feed(planning_.judge()); },
      [&](const job::MakePlan&) { unless_refused([&] { feed(planning_.make_plan()); }); },
      [&](const job::ClaimNodes&) { unless_refused([&] { planning_.claim(); }); },
      [&](const job::StartRanks&) {
        unless_refused([&] {
          planning_.start([this](int rank) { return input_.gets(rank); });
          if (input_.begin(planning_.ranks())) tasks_.spawn(input_.run());
        });
      },
      [&](const job::CloseNode& order) {
        const auto& connection = nodes_[static_cast<std::size_t>(order.node)].connection;
        if (connection) connection->close();
      },
      [&](const job::DetachNode& order) {
        nodes_[static_cast<std::size_t>(order.node)].connection->detach();
      },
      [&](const job::LookAtAgent& order) { feed(conversations_.look_at(order.node)); },
      [&](const job::KillAgent& order) { ::kill(order.process, SIGKILL); },
      [&](const job::Rejoin& order) { tasks_.spawn(conversations_.rejoin(order)); },
      [&](const job::StopSelf&) { tasks_.spawn(stop_self()); },
      [&](const job::Notice& notice) { say_about(notice.node, notice.text); }};
  std::visit(act, effect);
}

void SessionShell::say_about(int index, const std::string& text) {
  if (index < 0) return console_.say(text);
  console_.say(fmt::format("{}: {}", nodes_[static_cast<std::size_t>(index)].host.name, text));
}

// ---- tasks

awaitable<void> SessionShell::watch_time() {
  for (;;) {
    JobTime next = next_event(job_, console_);
    if (job_.state == JobState::kDone) next = phases_.back().began + kDrainDeadline;
    timer_.expires_at(began_ + next);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    console_.show_partial_lines(now());
    feed(job::Tick{});
  }
}

awaitable<void> SessionShell::watch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) signals_.add(signal);
  // nohup: the job outlives the terminal. Without job control: nobody would continue us after ^Z.
  for (const int signal : {SIGHUP, SIGTSTP}) {
    if (!is_ignored(signal)) signals_.add(signal);
  }
  for (;;) {
    const int signal = co_await signals_.async_wait(asio::use_awaitable);
    feed(job::Signalled{signal});
  }
}

// ^Z: the ranks have been told to stop. Stops this process once these messages are sent; the job
// continues after SIGCONT.
awaitable<void> SessionShell::stop_self() {
  constexpr auto kLook = 5ms;
  const auto sent = [](const SessionNode& each) {
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
  if (options_.hooks.stopped) options_.hooks.stopped(true);
  ::raise(SIGSTOP);
  if (options_.hooks.stopped) options_.hooks.stopped(false);
  feed(job::Continued{});
}

}  // namespace dtl
