// Collectives of a communicator are numbered, and every rank begins them in the same order. So the
// lowest number that any rank has begun says who is behind.
#include "launcher/job/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dtl {

// Named as in dtring.h. The numbers are those of ring/links/operation_header.h.
std::string collective_name(std::uint32_t opcode) {
  constexpr const char* kNames[] = {"collective", "allreduce", "reduce_scatter", "reduce",
                                    "allgather",  "broadcast", "gather",         "scatter",
                                    "alltoall",   "barrier"};
  return kNames[opcode < std::size(kNames) ? opcode : 0];
}

namespace {

constexpr std::size_t kMostDescribed = 4;  // of odd ranks that do different things

const char* activity_text(Activity activity, bool several) {
  switch (activity) {
    case Activity::kComputes:
      return several ? "compute" : "computes";
    case Activity::kSleeps:
      return several ? "sleep" : "sleeps";
    case Activity::kStopped:
      return several ? "are stopped" : "is stopped";
    case Activity::kWaitsForDisk:
      return several ? "wait for a disk" : "waits for a disk";
    case Activity::kSwaps:
      return several ? "swap" : "swaps";
  }
  return "?";
}

std::string seconds_of(JobTime time) {
  return fmt::format("{} s", (time.count() + 500) / 1000);
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fold_ranks(ranks));
}

void RankWatch::report(const RankReport& report, JobTime now) {
  const int number = static_cast<int>(report.rank);
  const auto [at, is_new] = ranks_.try_emplace(number);
  Rank& rank = at->second;
  if (is_new || rank.activity != report.activity) rank.since = now;
  rank.activity = report.activity;
  rank.pid = report.pid;
  rank.heard = now;
  const auto before = std::exchange(rank.places, {});
  // A rank may have several communicators with the same id: their order tells them apart.
  std::map<std::uint64_t, int> seen;
  for (const CommState& state : report.comms) {
    // A user's process writes this shared memory, so its values are not trusted.
    if (state.rank >= state.world) continue;
    const Key key{state.id, seen[state.id]++};
    comms_[key].members[state.rank] = {number, state};
    rank.places.emplace_back(key, state.rank);
  }
  // Communicators that it no longer tells of are no more.
  for (const auto& place : before) {
    if (std::find(rank.places.begin(), rank.places.end(), place) == rank.places.end()) {
      leave(place, number);
    }
  }
}

void RankWatch::leave(const std::pair<Key, std::uint32_t>& place, int rank) {
  const auto comm = comms_.find(place.first);
  if (comm == comms_.end()) return;
  const auto member = comm->second.members.find(place.second);
  // Another rank may have said since that the place is its own.
  if (member == comm->second.members.end() || member->second.rank != rank) return;
  comm->second.members.erase(member);
}

void RankWatch::forget(int rank) {
  const auto at = ranks_.find(rank);
  if (at == ranks_.end()) return;
  for (const auto& place : at->second.places) leave(place, rank);
  ranks_.erase(at);
}

void RankWatch::excuse(JobTime now) {
  for (auto& [number, rank] : ranks_) rank.since = rank.heard = now;
  for (auto& [key, comm] : comms_) {
    if (comm.wait) comm.wait->since = now;
  }
}

void RankWatch::look(JobTime now) {
  for (auto at = comms_.begin(); at != comms_.end();) {
    look_at(at->second, now);
    at = at->second.members.empty() ? comms_.erase(at) : std::next(at);
  }
}

// The time until which all these ranks have been heard. A wait counts only until then: a rank whose
// agent is silent may have moved on.
JobTime RankWatch::all_heard(const std::vector<int>& ranks, JobTime now) const {
  JobTime until = now;
  for (const int rank : ranks) {
    const auto found = ranks_.find(rank);
    if (found != ranks_.end()) until = std::min(until, found->second.heard);
  }
  return until;
}

// The lowest number begun decides: `behind` are the ranks that have begun no later collective. If
// nobody waits for them, all are in the same one (`stuck`), and only data can be missing. It does
// not hang while its bytes move: a large collective may take minutes. A rank that is further ahead
// is in a later collective, whose name would be wrong for this wait. A stopped rank explains more
// than one that is behind, and waits for nobody. If a member has gone, the wait did not end by
// progress.
void RankWatch::look_at(Comm& comm, JobTime now) {
  std::uint64_t last = UINT64_MAX, fingerprint = 0;
  std::uint32_t world = 0;
  for (const auto& [place, member] : comm.members) {
    const CommState& state = member.state;
    last = std::min(last, state.begun);
    world = std::max(world, state.world);
    for (const std::uint64_t part : {state.begun, state.completed, state.bytes}) {
      fingerprint = (fingerprint ^ part) * 0x100000001b3;  // FNV-1a, by words
    }
  }
  const bool moved = std::exchange(comm.fingerprint, fingerprint) != fingerprint;
  Wait wait;
  std::vector<int> behind, stopped, busy;
  for (const auto& [place, member] : comm.members) {
    const CommState& state = member.state;
    if (state.begun == last) behind.push_back(member.rank);
    if (state.begun > last && state.completed <= last) {
      wait.finding.waiting.push_back(member.rank);
      wait.finding.collective = collective_name(state.begun == last + 1 ? state.opcode : 0);
    }
    const auto rank = ranks_.find(member.rank);
    if (rank != ranks_.end() && rank->second.activity == Activity::kStopped) {
      stopped.push_back(member.rank);
    }
    if (state.begun == last && state.completed < last) {
      busy.push_back(member.rank);
      if (wait.finding.waiting.empty()) wait.finding.collective = collective_name(state.opcode);
    }
  }
  const bool stuck = wait.finding.waiting.empty();
  if (stuck) wait.finding.waiting = std::move(busy);
  // A rank without this communicator or a report may be the cause, so nothing is said about others.
  const bool known = comm.members.size() == world && world > 1;
  const bool goes_on = known && !wait.finding.waiting.empty() && !(stuck && moved);
  wait.collective = last + (stuck ? 0 : 1);
  const bool same = goes_on && comm.wait && comm.wait->collective == wait.collective;
  if (!same && comm.wait && comm.wait->told) {
    HangFinding over = comm.wait->finding;
    over.text = fmt::format("the {} in which {} waited goes on after {}", over.collective,
                            ranks_text(over.waiting), seconds_of(now - comm.wait->since));
    if (known) over_.push_back(std::move(over));
  }
  if (!goes_on) return comm.wait.reset();
  wait.since = same ? comm.wait->since : now;
  wait.told = same && comm.wait->told;
  wait.finding.odd = !stopped.empty() ? stopped : stuck ? std::vector<int>() : behind;
  std::erase_if(wait.finding.waiting, [&](int rank) {
    return std::find(stopped.begin(), stopped.end(), rank) != stopped.end();
  });
  for (auto* ranks : {&wait.finding.odd, &wait.finding.waiting}) {
    std::sort(ranks->begin(), ranks->end());
  }
  if (wait.finding.waiting.empty()) return comm.wait.reset();
  const JobTime until = all_heard(stuck ? wait.finding.waiting : wait.finding.odd, now);
  wait.finding.lasted = std::max(until - wait.since, JobTime(0));
  describe(wait, stuck);
  comm.wait = std::move(wait);
}

void RankWatch::describe(Wait& wait, bool moves_nothing) const {
  HangFinding& finding = wait.finding;
  const bool one = finding.waiting.size() == 1;
  if (moves_nothing) {
    finding.text = fmt::format("{} {} waited in the same {} for {}, and no data moves",
                               ranks_text(finding.waiting), one ? "has" : "have",
                               finding.collective, seconds_of(finding.lasted));
  } else {
    finding.text = fmt::format("{} {} not entered the {} in which {} {} waited for {}",
                               ranks_text(finding.odd), finding.odd.size() == 1 ? "has" : "have",
                               finding.collective, ranks_text(finding.waiting),
                               one ? "has" : "have", seconds_of(finding.lasted));
  }
  const std::string what = doing(finding.odd, moves_nothing);
  if (!what.empty()) finding.text += (moves_nothing ? "; " : ": ") + what;
}

// "it computes (process 4711)", "they sleep", "rank 3 computes, rank 4 is stopped"; by_name: not
// "it" and "they".
std::string RankWatch::doing(const std::vector<int>& odd, bool by_name) const {
  std::vector<std::string> pieces;
  std::vector<Activity> activities;
  for (const int number : odd) {
    const auto at = ranks_.find(number);
    if (at == ranks_.end()) continue;
    activities.push_back(at->second.activity);
    if (odd.size() == 1) {
      return fmt::format("{} {} (process {})", by_name ? ranks_text(odd) : "it",
                         activity_text(at->second.activity, false), at->second.pid);
    }
    pieces.push_back(fmt::format("rank {} {}", number, activity_text(at->second.activity, false)));
  }
  if (activities.empty()) return {};
  const auto other = [&](Activity activity) { return activity != activities.front(); };
  if (std::none_of(activities.begin(), activities.end(), other)) {
    return fmt::format("{} {}", by_name ? ranks_text(odd) : "they",
                       activity_text(activities.front(), true));
  }
  const std::size_t more = pieces.size() - std::min(pieces.size(), kMostDescribed);
  pieces.resize(pieces.size() - more);
  return join(pieces, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

bool RankWatch::all_swap(const std::vector<int>& odd) const {
  return !odd.empty() && std::all_of(odd.begin(), odd.end(), [&](int number) {
    const auto at = ranks_.find(number);
    return at != ranks_.end() && at->second.activity == Activity::kSwaps;
  });
}

std::vector<HangFinding> RankWatch::untold(JobTime after) {
  std::vector<HangFinding> found = std::exchange(over_, {});
  for (auto& [key, comm] : comms_) {
    if (!comm.wait || comm.wait->told || comm.wait->finding.lasted < after) continue;
    comm.wait->told = true;
    const HangFinding& finding = comm.wait->finding;
    // One rank may block many communicators.
    const auto alike = [&](const HangFinding& other) {
      return other.odd == finding.odd && !other.odd.empty();
    };
    if (std::none_of(found.begin(), found.end(), alike)) found.push_back(finding);
  }
  return found;
}

std::optional<HangFinding> RankWatch::hang(JobTime after, std::size_t running) const {
  for (const auto& [key, comm] : comms_) {
    if (!comm.wait || comm.wait->finding.lasted < after) continue;
    if (!all_swap(comm.wait->finding.odd)) return comm.wait->finding;
  }
  // A wait in a collective names the ranks and the reason, so it comes first. Then a stopped rank.
  // That all ranks sleep does not say which one is at fault.
  HangFinding stopped, idle;
  // Without libdtring's reports, all ranks asleep is the only sign. One rank that computes may be
  // why the others wait.
  bool all_idle = running > 0 && ranks_.size() == running;
  for (const auto& [number, rank] : ranks_) {
    // Until its last report: what it did since is unknown.
    const JobTime lasted = rank.heard - rank.since;
    all_idle = all_idle && rank.activity == Activity::kSleeps && lasted >= after;
    if (rank.activity != Activity::kStopped || lasted < after) continue;
    stopped.odd.push_back(number);
    stopped.lasted = std::max(stopped.lasted, lasted);
  }
  if (!stopped.odd.empty()) {
    stopped.text =
        fmt::format("{} {} been stopped for {}", ranks_text(stopped.odd),
                    stopped.odd.size() == 1 ? "has" : "have", seconds_of(stopped.lasted));
    return stopped;
  }
  if (!all_idle) return std::nullopt;
  idle.lasted = after;
  idle.text = fmt::format("no rank has done anything for {}", seconds_of(after));
  return idle;
}

}  // namespace dtl
