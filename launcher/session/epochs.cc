// One object runs the whole job. Each step of run() may revoke the verdict to start another epoch.
#include "launcher/session/epochs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/restart/next_hosts.h"
#include "launcher/screen/console.h"
#include "launcher/screen/terminal_color.h"
#include "launcher/session/card_facts.h"
#include "launcher/session/epoch_end.h"
#include "launcher/session/held_signals.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

JobTime since(Clock::time_point begin) {
  return std::chrono::duration_cast<JobTime>(Clock::now() - begin);
}

std::string count_processes(std::size_t count) {
  return fmt::format("{} process{}", count, count == 1 ? "" : "es");
}

// Loops over the epochs of one job.
class Epochs {
 public:
  Epochs(Request request, SessionOptions options, const RestartOptions& restarts)
      : request_(std::move(request)),
        options_(std::move(options)),
        restarts_(restarts),
        spares_(restarts.spares),
        began_(Clock::now()),
        began_at_(std::time(nullptr)),
        time_limit_(request_.ending.timeout),
        // Ranks that read the descriptor themselves move the same file offset.
        input_begin_(::lseek(options_.input, 0, SEEK_CUR)) {
    log_directory_ = options_.streams.console.log_directory;
    if (restarts.elastic) {
      elastic_.emplace(*restarts.elastic, request_.hosts, restarts.spares, began_);
    }
    if (!elastic_) options_.more_hosts = spares_.size();
    watch_the_start();
  }

  JobResult run() {
    for (;;) {
      const JobTime begin = since(began_);
      if (elastic_) options_.control = elastic_->control();
      SessionResult result = run_session(request_, options_);
      if (takes_more_hosts(result)) result = run_session(request_, options_);
      // Until the next session handles signals: between two sessions they would kill dtlaunch.
      const HeldSignals held;
      if (elastic_) elastic_->ended();
      add(result, begin);
      RestartVerdict verdict = judge(result);
      // Cheap checks first; hosts are asked only if another epoch is possible.
      if (verdict.again) rewind_input(result, verdict);
      if (verdict.again) choose_hosts(result, verdict);
      if (verdict.again) wait_for_hosts(held, result, verdict);
      if (verdict.again) check_ranks_fit(result, verdict);
      if (verdict.again) wait(held, result, verdict);
      if (!verdict.again) return leave(std::move(result), verdict);
    }
  }

 private:
  // shown: the same with colours; empty: without
  void say(const std::string& text, const std::string& shown = {}) {
    log_notice(shown.empty() ? text : shown);
    if (options_.hooks.said) options_.hooks.said(text);
    messages_.push_back(text);
  }

  // Other jobs have the cores of the hosts that would have been enough.
  bool takes_more_hosts(const SessionResult& result) {
    if (options_.more_hosts == 0 || !lacks_cores(result)) return false;
    options_.more_hosts = 0;
    for (Host& host : std::exchange(spares_, {})) request_.hosts.push_back(std::move(host));
    return true;
  }

  // Reports when all ranks run, and how much time the last failure cost.
  void watch_the_start() {
    options_.hooks.placed = [this, told = options_.hooks.placed](std::size_t ranks) {
      ranks_ = ranks;
      if (told) told(ranks);
    };
    options_.hooks.started = [this, told = options_.hooks.started] {
      // Whoever waits for the start of a detached job hears only of the first one.
      if (!std::exchange(has_run_, true) && told) told();
      if (!epochs_.empty()) {
        epochs_.back().lost = since(began_) - failed_;
        if (restarts_.running_again) restarts_.running_again(epochs_.back().lost);
      }
      if (elastic_) elastic_->started(ranks_);
      JobEvent event;
      event.ranks = ranks_;
      event.hosts = names_of(request_.hosts);
      tell(event);
    };
  }

  void tell(JobEvent& event) const {
    if (!restarts_.tell) return;
    event.restarts = request_.restart_count;
    event.since_start = since(began_);
    restarts_.tell(event);
  }

  // Not if the user, a notice or a change of hosts ended the epoch.
  void tell_of_failure(const Epoch& epoch) const {
    const Outcome& outcome = epoch.end.outcome;
    if (outcome.exit_status == 0 || outcome.cause == Cause::kInterrupted ||
        outcome.cause == Cause::kHostsChanged || outcome.cause == Cause::kNotice) {
      return;
    }
    JobEvent event;
    event.kind = JobEvent::Kind::kFailure;
    event.hosts = epoch.hosts;
    event.outcome = outcome;
    event.host = epoch.host;
    tell(event);
  }

  void add(const SessionResult& result, JobTime begin) {
    // --timeout does not count the time in line, and the next epoch has its place there.
    if (time_limit_) *time_limit_ += result.job.waiting.total;
    options_.job.arrival_ms = result.job.waiting.arrival_ms;
    messages_.insert(messages_.end(), result.messages.begin(), result.messages.end());
    Epoch epoch;
    epoch.end = end_of(result);
    const Outcome& outcome = epoch.end.outcome;
    if (outcome.rank >= 0 || outcome.node >= 0) epoch.host = card_facts(result).host;
    epoch.hosts = hosts_with_ranks(result);
    epoch.began = begin;
    epoch.ended = since(began_);
    failed_ = begin + time_of_failure(result);
    if (result.plan) epoch.ranks = result.plan->world_size;
    epoch.elastic = request_.elastic;
    // The departure of a host is not a failure either.
    const bool goes = outcome.cause == Cause::kNotice && outcome.node >= 0;
    changed_ = elastic_ ? goes || is_change_of_hosts(outcome) : goes && request_.max_restarts() > 0;
    if (!changed_) {
      ends_.push_back(epoch.end);
      judged_.push_back(epochs_.size());
    }
    tell_of_failure(epoch);
    epochs_.push_back(std::move(epoch));
  }

  // Hosts may join and leave as often as they like.
  RestartVerdict judge(const SessionResult& result) const {
    // ^C arrived while the ranks were ending after a failure.
    if (result.job.kill_sent && request_.max_restarts() > 0)
      return {false, JobTime{0}, "it was interrupted"};
    if (changed_) return {true, JobTime{0}, {}};
    return judge_restart(request_.max_restarts(), ends_);
  }

  // The next epoch must read the same input again, or its ranks compute something else.
  void rewind_input(const SessionResult& result, RestartVerdict& verdict) const {
    if (result.input_bytes == 0) return;
    if (input_begin_ >= 0 && ::lseek(options_.input, input_begin_, SEEK_SET) >= 0) return;
    verdict = {false, JobTime{0},
               fmt::format("its ranks have read {} of standard input, which does not come twice; "
                           "next: --stdin none, or a file",
                           size_text(result.input_bytes))};
  }

  // Chooses the remaining hosts, and how long lost hosts may still run something.
  void choose_hosts(const SessionResult& result, RestartVerdict& verdict) {
    if (result.plan && elastic_ && request_.first_ranks == 0) {
      request_.first_ranks = static_cast<std::size_t>(result.plan->world_size);
    }
    if (result.plan && !elastic_ && !request_.placement.ranks && request_.programs.size() == 1) {
      request_.placement.ranks = result.plan->world_size;  // as many as before, wherever
    }
    if (request_.hosts.empty()) return check_this_host(result, verdict);
    std::vector<HostAtEnd> epoch;
    for (std::size_t i = 0; i < result.hosts.size(); ++i) {
      const NodeState& node = result.job.nodes[i];
      epoch.push_back({result.hosts[i].name, node.start_failure.has_value(),
                       node.finished.has_value(), node.given_up.value_or(result.ended), false,
                       node.link.patience()});
      epoch.back().told_to_go = node.told_to_go;
    }
    fence(result.hosts, epoch);
    NextHosts next = next_hosts(epoch, result.ended, std::move(request_.hosts), std::move(spares_),
                                !request_.placement.rank_map.empty());
    if (elastic_) {
      next.why = elastic_->go_on(result, next.left_out, is_clean_);
      if (elastic_->patience()) too_few_ = std::exchange(next.why, {});
      next.hosts = elastic_->hosts();
    }
    request_.hosts = std::move(next.hosts);
    spares_ = std::move(next.spares);
    epochs_.back().left_out = std::move(next.left_out);
    verdict.wait = std::max(verdict.wait, next.wait);
    if (!next.why.empty()) verdict = {false, JobTime{0}, next.why};
  }

  // Ends what is left on hosts that did not report their end.
  void fence(const std::vector<Host>& hosts, std::vector<HostAtEnd>& epoch) {
    const std::vector<std::size_t> unsure = hosts_to_fence(epoch);
    if (unsure.empty()) return;
    std::vector<Host> asked;
    for (const std::size_t i : unsure) asked.push_back(hosts[i]);
    const std::vector<Fenced> fenced = restarts_.fence(asked);
    for (std::size_t i = 0; i < fenced.size(); ++i) {
      epoch[unsure[i]].fenced = fenced[i].clean;
      if (!fenced[i].clean) {
        say(fmt::format("{}: left out: {}", asked[i].name, fenced[i].reason));
      } else if (fenced[i].ended > 0) {
        say(fmt::format("{}: ended {} that the job had left there", asked[i].name,
                        count_processes(fenced[i].ended)));
      }
    }
  }

  // Waits for hosts that arrive by themselves.
  void wait_for_hosts(const HeldSignals& held, SessionResult& result, RestartVerdict& verdict) {
    if (too_few_.empty()) return;
    say(fmt::format("waiting {} s for more: {}", elastic_->patience()->count(), too_few_));
    auto end = Clock::now() + *elastic_->patience();
    if (time_limit_) end = std::min(end, began_ + *time_limit_);
    std::optional<int> signal;
    too_few_ = elastic_->wait_for_more(held, end, is_clean_, signal);
    request_.hosts = elastic_->hosts();
    if (signal) interrupt(result, verdict, *signal);
    if (!signal && !too_few_.empty()) verdict = {false, JobTime{0}, std::exchange(too_few_, {})};
  }

  // Runs before dtlaunch announces the next epoch.
  void check_ranks_fit(const SessionResult& result, RestartVerdict& verdict) const {
    const std::string why = why_ranks_do_not_fit(request_, result);
    if (!why.empty()) verdict = {false, JobTime{0}, "its ranks do not fit what is left: " + why};
  }

  // For a job on this machine alone: fence() ends what is left after its agent has died.
  void check_this_host(const SessionResult& result, RestartVerdict& verdict) {
    if (changed_) verdict = {false, JobTime{0}, "no host is left"};
    const bool silent = std::any_of(result.job.nodes.begin(), result.job.nodes.end(),
                                    [](const NodeState& node) { return !node.finished; });
    if (!silent) return;
    const Fenced fenced = restarts_.fence(result.hosts).front();
    if (!fenced.clean) verdict = {false, JobTime{0}, fenced.reason};
  }

  void wait(const HeldSignals& held, SessionResult& result, RestartVerdict& verdict) {
    const auto done = static_cast<int>(epochs_.size());
    const JobTime waited = since(began_) - epochs_.back().ended;
    const JobTime left = std::max(JobTime{0}, verdict.wait - waited);
    std::string text = changed_
                           ? "going on"
                           : fmt::format("restart {} of {}", ends_.size(), request_.max_restarts());
    if (!request_.hosts.empty())
      text += (changed_ ? " with " : " on ") + names_or_count(request_.hosts);
    if (left >= 100ms) {
      text += fmt::format(" in {:.1f} s", static_cast<double>(left.count()) / 1000);
      if (!epochs_.back().left_out.empty()) text += ", when nothing can run on the lost hosts";
    }
    say(text);
    if (restarts_.restarting) restarts_.restarting(done, request_.hosts, epochs_.back());
    auto until = Clock::now() + left;
    if (time_limit_) until = std::min(until, began_ + *time_limit_);
    const auto signal = held.wait_until(until);
    if (signal) {
      interrupt(result, verdict, *signal);
    } else if (time_limit_ && since(began_) >= *time_limit_) {
      end_by(result, Cause::kTimeout, static_cast<int>(Exit::kTimeout));
      verdict = {};
    } else {
      prepare_next(done);
    }
  }

  void prepare_next(int restarts) {
    request_.restart_count = restarts;
    JobEvent event;
    event.kind = JobEvent::Kind::kRestart;
    event.hosts = names_of(request_.hosts);
    event.left_out = epochs_.back().left_out;
    tell(event);
    options_.streams.console.append = true;
    if (!log_directory_.empty()) {
      options_.streams.console.log_directory =
          fmt::format("{}/restart-{}", log_directory_, restarts);
    }
    if (time_limit_) {
      request_.ending.timeout = std::max(*time_limit_ - since(began_), JobTime{1});
    }
  }

  // A signal arrived between two epochs.
  void interrupt(SessionResult& result, RestartVerdict& verdict, int signal) {
    end_by(result, Cause::kInterrupted, 128 + signal);
    result.job.outcome->signal = signal;
    verdict = {};
  }

  void end_by(SessionResult& result, Cause cause, int status) {
    Outcome outcome;
    outcome.cause = cause;
    outcome.exit_status = status;
    result.job.outcome = outcome;
    result.ended = since(began_);
    CardFacts facts;
    facts.seconds = static_cast<double>(result.ended.count()) / 1000;
    if (cause == Cause::kInterrupted) outcome.signal = status - 128;
    const std::string card = failure_card(outcome, facts, 0);
    const bool color = wants_color(options_.streams.console.color, STDERR_FILENO);
    say(card, color ? colored_card(card) : "");
    epochs_.back().why = cause_name(cause);
    decided_ = true;
  }

  JobResult leave(SessionResult result, const RestartVerdict& verdict) {
    if (!verdict.why.empty()) {
      epochs_.back().why = verdict.why;
      say("not started again: " + verdict.why);
    }
    if (!decided_ && !changed_ && epochs_.size() > 1) decide(result);
    blame_notice(*result.job.outcome);
    result.began = began_at_;
    result.messages = std::move(messages_);
    return {std::move(result), std::move(epochs_), std::move(request_.reporting)};
  }

  // If the ranks do not fit without a host that had to go, blames the host's departure.
  void blame_notice(Outcome& last) {
    if (last.cause != Cause::kCannotStart || epochs_.size() < 2) return;
    const Epoch& before = epochs_[epochs_.size() - 2];
    if (before.end.outcome.cause != Cause::kNotice) return;
    last.exit_status = before.end.outcome.exit_status;
    say(fmt::format("the first cause: {} had to go ({}), status {}", before.host,
                    before.end.outcome.text, last.exit_status));
  }

  void decide(SessionResult& result) {
    const std::size_t at = deciding_epoch(ends_);
    if (at + 1 == ends_.size()) return;
    const std::string& host = epochs_[judged_[at]].host;
    const Outcome &first = ends_[at].outcome, &last = ends_.back().outcome;
    if (first.cause == last.cause && first.rank == last.rank && first.node == last.node &&
        first.exit_status == last.exit_status) {
      return;
    }
    result.job.outcome->exit_status = first.exit_status;
    say(fmt::format("the first cause: {}{}, status {}", cause_name(first.cause),
                    first.rank >= 0   ? fmt::format(" of rank {} on {}", first.rank, host)
                    : first.node >= 0 ? " of " + host
                                      : "",
                    first.exit_status));
  }

  Request request_;
  SessionOptions options_;
  const RestartOptions& restarts_;
  std::vector<Host> spares_;
  Clock::time_point began_;
  std::time_t began_at_;
  std::optional<JobTime> time_limit_;
  off_t input_begin_;  // offset; -1: it cannot be read twice
  std::string log_directory_;
  JobTime failed_{0};
  std::size_t ranks_ = 0;
  std::vector<std::string> messages_;  // of all epochs
  bool has_run_ = false;               // all ranks ran at once in some epoch
  bool decided_ = false;
  bool changed_ = false;             // the last epoch ended for a change of hosts
  std::vector<EpochEnd> ends_;       // of epochs that did not
  std::vector<std::size_t> judged_;  // their indexes in epochs_
  std::vector<Epoch> epochs_;
  std::optional<ElasticHosts> elastic_;
  const AreClean is_clean_ = [this](const std::vector<Host>& hosts) {
    std::vector<bool> all;
    for (const Fenced& fenced : restarts_.fence(hosts)) all.push_back(fenced.clean);
    return all;
  };
  std::string too_few_;  // why the remaining hosts do not suffice; more may come
};

}  // namespace

JobResult run_epochs(Request request, SessionOptions options, const RestartOptions& restarts) {
  return Epochs(std::move(request), std::move(options), restarts).run();
}

}  // namespace dtl
