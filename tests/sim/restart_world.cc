#include "tests/sim/restart_world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"

namespace dtl::sim {

RestartWorld::RestartWorld(std::uint64_t seed, const RestartRules& rules)
    : random_(seed), rules_(rules) {
  most_ = draw(0, 5);
  fixed_ = chance(20);
  const int hosts = draw(1, 5), spares = draw(0, 3);
  for (int i = 0; i < hosts + spares; ++i) {
    Host host;
    host.name = fmt::format("h{}", i);
    truth_[host.name] = {};
    (i < hosts ? hosts_ : spares_).push_back(host);
  }
}

void RestartWorld::run() {
  do {
    begin_epoch();
    end_epoch();
  } while (complaints_.empty() && go_on());
  if (complaints_.empty()) check_end();
}

void RestartWorld::check(bool holds, const std::string& promise) {
  if (!holds) complaints_ += promise + "\n";
}

void RestartWorld::begin_epoch() {
  check(!hosts_.empty(), "an epoch begins without hosts");
  check(static_cast<int>(ends_.size()) <= most_, "more restarts than --max-restarts");
  for (const auto& [name, truth] : truth_) {
    check(!truth.needs_fence && truth.ranks_end <= now_, "old ranks are alive on " + name);
  }
  at_end_.clear();
  story_ += fmt::format("{} ms: epoch {} on", now_.count(), ends_.size());
  for (const Host& host : hosts_) {
    check(!truth_[host.name].gone, host.name + " was left out and is used again");
    at_end_.push_back({host.name, false, false, JobTime{0}, false});
    story_ += " " + host.name;
  }
  story_ += "\n";
}

void RestartWorld::draw_end() {
  EpochEnd& end = ends_.emplace_back();
  constexpr Cause kCauses[] = {Cause::kRankExit,    Cause::kRankSignal,  Cause::kRankSignal,
                               Cause::kNodeLost,    Cause::kNodeLost,    Cause::kAgentFailed,
                               Cause::kCannotStart, Cause::kInterrupted, Cause::kCompleted};
  end.outcome.cause = kCauses[draw(0, 8)];
  end.outcome.exit_status = draw(1, 60);
  if (end.outcome.cause == Cause::kCompleted) end.outcome.exit_status = 0;
  if (end.outcome.cause == Cause::kRankExit && chance(20)) end.outcome.exit_status = 65;
  if (end.outcome.cause == Cause::kRankSignal) end.outcome.signal = chance(50) ? 9 : 11;
  if (end.outcome.cause <= Cause::kRankSignal) end.outcome.rank = draw(0, 3);
  if (chance(80)) end.ran = some_time(2 * JobTime(kFirstStep));
}

void RestartWorld::end_epoch() {
  draw_end();
  const EpochEnd& end = ends_.back();
  now_ += some_time(2s) + end.ran.value_or(JobTime{0}) + JobTime(kDead);
  const bool lost =
      end.outcome.cause == Cause::kNodeLost || end.outcome.cause == Cause::kAgentFailed;
  for (HostAtEnd& host : at_end_) {
    Truth& truth = truth_[host.name];
    host.last_told = now_;
    truth.ranks_end = now_;
    host.told_to_go = chance(10);
    if (lost && (chance(40) || &host == &at_end_.front())) {
      lose(host, truth);
    } else if (end.outcome.cause == Cause::kCannotStart && chance(50)) {
      host.not_up = true;
    } else {
      host.finished = true;
    }
  }
  story_ += fmt::format("{} ms: {}, status {}\n", now_.count(), cause_name(end.outcome.cause),
                        end.outcome.exit_status);
}

// The agent of a host that is cut off ends its ranks when its lease expires, counted from the last
// message that it got: perhaps none since the cut, perhaps all that the launcher sent.
void RestartWorld::lose(HostAtEnd& host, Truth& truth) {
  switch (draw(0, 2)) {
    case 0:  // agent and guard were killed: the ranks live on
      host.last_told = now_ - some_time(1s);
      truth.needs_fence = true;
      break;
    case 1:  // powered off
      host.last_told = now_ - some_time(JobTime(kDead));
      truth.ranks_end = host.last_told;
      truth.reachable = false;
      break;
    default:  // cut off, perhaps for a while
      host.last_told = now_ - some_time(JobTime(kKillGrace));
      truth.ranks_end = host.last_told - some_time(JobTime(kDead)) + JobTime(kLease) +
                        JobTime(kKillGrace) + some_time(2s);
      truth.reachable = chance(50);
  }
  story_ +=
      fmt::format("  lost {}: last told at {} ms, its ranks end at {} ms{}{}\n", host.name,
                  host.last_told.count(), truth.ranks_end.count(),
                  truth.needs_fence ? " or never" : "", truth.reachable ? "" : ", out of reach");
}

void RestartWorld::fence() {
  JobTime longest{0};
  for (const std::size_t i : rules_.to_fence(at_end_)) {
    Truth& truth = truth_[at_end_[i].name];
    at_end_[i].fenced = truth.reachable;
    longest = std::max(longest, truth.reachable ? some_time(2s) : JobTime(kFenceAnswer));
    if (!truth.reachable) continue;
    truth.needs_fence = false;
    truth.ranks_end = std::min(truth.ranks_end, now_);
  }
  now_ += longest;
}

bool RestartWorld::go_on() {
  const RestartVerdict verdict = rules_.judge(most_, ends_);
  if (!verdict.again) return false;
  const Cause cause = ends_.back().outcome.cause;
  check(cause != Cause::kCompleted && cause != Cause::kInterrupted, "a job that ended goes on");
  const EpochEnd& end = ends_.back();
  check(cause != Cause::kRankExit || end.outcome.exit_status != 65, "a hopeless job goes on");
  const JobTime ended = now_;
  fence();
  const NextHosts next = rules_.next(at_end_, ended, hosts_, spares_, fixed_);
  if (!next.why.empty()) return false;
  check_hosts(next);
  const std::size_t count = ends_.size();
  const auto at_once = [](const EpochEnd& e) { return !e.ran || *e.ran < JobTime(kFirstStep); };
  const JobTime wait = std::max(verdict.wait, next.wait);
  if (count > 1 && at_once(ends_[count - 1]) && at_once(ends_[count - 2])) {
    check(wait >= JobTime(kFirstBackOff), "no time between restarts that fail at once");
  }
  if (count > 2 && at_once(end) && at_once(ends_[count - 2]) && at_once(ends_[count - 3])) {
    check(wait >= 2 * JobTime(kFirstBackOff), "the time between restarts does not grow");
  }
  check(wait <= std::max(JobTime(kFence), JobTime(kLongestBackOff)), "the wait is endless");
  waited_for_silence_ |= next.wait.count() > 0;
  now_ = std::max(now_, ended + wait);
  hosts_ = next.hosts;
  spares_ = next.spares;
  return true;
}

// Next must come: the used hosts that are well, and spare hosts in order, each once.
void RestartWorld::check_hosts(const NextHosts& next) {
  std::size_t lost = 0;
  std::vector<std::string> expected;
  auto spare = spares_.begin();
  for (const HostAtEnd& host : at_end_) {
    const Truth& truth = truth_[host.name];
    const bool is_well = !host.not_up && truth.reachable && !host.told_to_go;
    if (is_well) expected.push_back(host.name);
    if (is_well) continue;
    truth_[host.name].gone = true;
    ++lost;
  }
  const std::size_t taken = std::min(lost, spares_.size());
  for (std::size_t i = 0; i < taken; ++i) expected.push_back((spare++)->name);
  used_spare_ |= taken > 0;
  std::vector<std::string> used, left, left_expected;
  for (const Host& host : next.hosts) used.push_back(host.name);
  for (const Host& host : next.spares) left.push_back(host.name);
  for (; spare != spares_.end(); ++spare) left_expected.push_back(spare->name);
  std::sort(used.begin(), used.end());
  std::sort(expected.begin(), expected.end());
  check(used == expected, "goes on with other hosts than those that are well and the next spares");
  check(left == left_expected, "spare hosts are lost, or used out of order");
  check(next.left_out.size() == lost, "not every lost host is reported");
}

// The job's result must not come from restarts that failed at once.
void RestartWorld::check_end() {
  const std::size_t at = rules_.deciding(ends_);
  check(at < ends_.size(), "no epoch decides");
  if (at >= ends_.size()) return;
  const Cause last = ends_.back().outcome.cause;
  if (last == Cause::kCompleted || last == Cause::kInterrupted) {
    check(at + 1 == ends_.size(), "the end is not that of the last epoch");
    return;
  }
  for (std::size_t i = at + 1; i < ends_.size(); ++i) {
    check(!ends_[i].ran || *ends_[i].ran < JobTime(kFirstStep), "an epoch that ran is passed over");
  }
  check(at == 0 || (ends_[at].ran && *ends_[at].ran >= JobTime(kFirstStep)),
        "the first cause is not what the job returns");
}

}  // namespace dtl::sim
