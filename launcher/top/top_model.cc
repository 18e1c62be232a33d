// Rates come from the hosts' own clocks: frames may wait on their way. Steps are compared across
// hosts, so their times are those of arrival.
#include "launcher/top/top_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace dtl {
namespace {

// RankWatch counts from the first look at a wait to the last report of those that others wait for.
// So any time at all means that they were seen there twice.
constexpr JobTime kToldWait{1};
// Ranks read their pages at different moments, so one step apart means nothing.
constexpr std::uint64_t kStepsBehind = 2;
constexpr JobTime kRateWindow{60'000};    // for tokens per second: several steps of a slow job
constexpr std::size_t kLeastSteps = 3;    // changes for a rate
constexpr std::uint64_t kManySteps = 10;  // of which one more or less is 10 %
constexpr std::size_t kMostSteps = 600;   // in that window, ten each second

std::optional<double> rate(std::uint64_t now, std::uint64_t before, double seconds) {
  // A process that has ended takes its counts with it.
  if (seconds <= 0) return std::nullopt;
  return static_cast<double>(now - std::min(now, before)) / seconds;
}

double seconds_between(std::int64_t later, std::int64_t earlier) {
  return (static_cast<double>(later) - static_cast<double>(earlier)) / 1000;
}

bool is_told(const TrainingProgress& progress) {
  return progress.step > 0 || progress.total_steps > 0;
}

// One machine may be watched under two names: of its ranks only the first ones count.
using Known = std::set<std::tuple<std::string, int, std::uint32_t>>;

}  // namespace

std::size_t TopModel::add_host(std::string name) {
  hosts_.push_back({});
  hosts_.back().name = std::move(name);
  return hosts_.size() - 1;
}

TopModel::RankKey TopModel::key_of(const FrameRank& rank) {
  return {rank.job, rank.rank, rank.rank < 0 ? rank.report.pid : 0};
}

TopModel::Past TopModel::past_of(const FrameRank& rank, std::int64_t at_ms, const Past* before) {
  Past past;
  past.at_ms = at_ms;
  past.usage = rank.report.usage;
  past.sent = rank.sent;
  past.has_ring = !rank.report.comms.empty();
  std::map<std::uint64_t, int> same_id;  // their order tells apart those with one id
  for (const CommState& comm : rank.report.comms) {
    past.ring += comm.bytes;
    const std::pair<std::uint64_t, int> place{comm.id, same_id[comm.id]++};
    if (comm.begun <= comm.completed) continue;
    Wait wait{comm.completed, at_ms};
    const auto old = before == nullptr ? past.waits.end() : before->waits.find(place);
    const bool goes_on =
        before != nullptr && old != before->waits.end() && old->second.completed == comm.completed;
    past.waits[place] = goes_on ? old->second : wait;
  }
  if (before == nullptr) return past;
  const double seconds = seconds_between(at_ms, before->at_ms);
  past.cpu_percent = rate(past.usage.cpu_ms, before->usage.cpu_ms, seconds * 10);
  past.sent_per_s = rate(past.sent, before->sent, seconds);
  if (past.has_ring && before->has_ring) past.ring_per_s = rate(past.ring, before->ring, seconds);
  return past;
}

void TopModel::take(std::size_t number, HostFrame frame, JobTime now) {
  HostSeen& host = hosts_[number];
  if (!job_.empty()) {
    const auto is_other = [&](const auto& each) { return each.job != job_; };
    std::erase_if(frame.launchers, is_other);
    std::erase_if(frame.agents, is_other);
    std::erase_if(frame.ranks, is_other);
  }
  std::map<RankKey, Past> past;
  for (const FrameRank& rank : frame.ranks) {
    const auto before = host.past.find(key_of(rank));
    past[key_of(rank)] =
        past_of(rank, frame.at_ms, before == host.past.end() ? nullptr : &before->second);
  }
  host.past = std::move(past);
  host.state = TopHostState::kWatched;
  host.reason.clear();
  ++host.frames;
  host.heard = now;
  note_ranks(number, frame, now);
  host.frame = std::move(frame);
}

void TopModel::note_ranks(std::size_t number, const HostFrame& frame, JobTime now) {
  std::map<std::string, std::set<int>> running;
  for (const FrameRank& rank : frame.ranks) {
    JobSeen& job = jobs_[rank.job];
    if (is_told(rank.report.progress)) note_progress(job, rank, now);
    if (rank.rank < 0) continue;
    running[rank.job].insert(rank.rank);
    job.places[rank.rank] = number;
    job.watch.report(rank.report, now);
  }
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    JobSeen& job = at->second;
    const std::set<int>& here = running[at->first];
    std::erase_if(job.places, [&](const auto& place) {
      const bool gone = place.second == number && !here.contains(place.first);
      if (gone) job.watch.forget(place.first);
      return gone;
    });
    at = job.places.empty() && here.empty() ? jobs_.erase(at) : std::next(at);
  }
}

void TopModel::note_progress(JobSeen& job, const FrameRank& rank, JobTime now) {
  const TrainingProgress& progress = rank.report.progress;
  const auto [own, is_first] = job.own_steps.try_emplace(rank.rank, progress.step);
  if (!is_first && progress.step == own->second) {
    job.still.insert(rank.rank);
  } else {
    job.still.erase(rank.rank);
  }
  // It has started again, from a checkpoint: the job's rate begins anew.
  if (progress.step < std::exchange(own->second, progress.step)) {
    job.steps.clear();
    job.progress.reset();
  }
  // Ranks of equal steps have equal losses; the first one's stays.
  if (job.progress && progress.step <= job.progress->step) return;
  job.progress = progress;
  job.steps.push_back({now, progress.step, progress.tokens});
  while (job.steps.size() > kLeastSteps &&
         (now - job.steps[1].at >= kRateWindow || job.steps.size() > kMostSteps)) {
    job.steps.pop_front();
  }
}

void TopModel::lose(std::size_t number, std::string reason, std::optional<JobTime> next_try) {
  HostSeen& host = hosts_[number];
  host.state = TopHostState::kLost;
  host.reason = std::move(reason);
  host.next_try = next_try;
  host.frames = 0;
  host.past.clear();  // its clock may be another one by the next frame
}

void TopModel::excuse(JobTime now) {
  for (auto& [id, job] : jobs_) {
    job.watch.excuse(now);
    job.steps.clear();
    job.progress.reset();
    job.own_steps.clear();
  }
}

void TopModel::look(JobTime now) {
  for (auto& [id, job] : jobs_) job.watch.look(now);
}

void TopModel::add_ranks(const HostSeen& host, std::map<std::string, TopJob>& jobs) const {
  for (const FrameRank& seen : host.frame.ranks) {
    TopJob& job = jobs[seen.job];
    TopRank rank;
    rank.rank = seen.rank;
    rank.host = host.name;
    rank.pid = seen.report.pid;
    rank.program = seen.program;
    rank.memory_kib = seen.report.usage.memory_kib;
    rank.threads = seen.report.usage.threads;
    if (is_told(seen.report.progress)) rank.progress = seen.report.progress;
    const auto past = host.past.find(key_of(seen));
    if (host.state == TopHostState::kWatched) rank.activity = seen.report.activity;
    if (past != host.past.end()) {
      rank.cpu_percent = past->second.cpu_percent;
      rank.sent_per_s = past->second.sent_per_s;
      rank.ring_per_s = past->second.ring_per_s;
      std::map<std::uint64_t, int> same_id;
      for (const CommState& comm : seen.report.comms) {
        const auto wait = past->second.waits.find({comm.id, same_id[comm.id]++});
        // Seen once it says nothing: a job in progress is in some collective most of the time.
        if (wait == past->second.waits.end() || wait->second.since_ms >= host.frame.at_ms) continue;
        const double waits_s = seconds_between(host.frame.at_ms, wait->second.since_ms);
        if (waits_s <= rank.waits_s) continue;
        rank.waits_s = waits_s;
        rank.number = static_cast<std::int64_t>(comm.completed + 1);
        // The kind is that of the latest collective; several may be in flight.
        rank.collective = collective_name(comm.begun == comm.completed + 1 ? comm.opcode : 0);
      }
    }
    job.ranks.push_back(std::move(rank));
  }
}

TopTraining TopModel::training_of(const JobSeen& job) {
  TopTraining training;
  const TrainingProgress& progress = *job.progress;
  training.step = progress.step;
  training.total_steps = progress.total_steps;
  training.tokens = progress.tokens;
  if (std::isfinite(progress.loss)) training.loss = progress.loss;
  // Between two changes that were seen: the first entry only says that a step was under way. Among
  // many steps that is of no account.
  if (job.steps.empty()) return training;
  const StepSeen& last = job.steps.back();
  const bool many = last.step >= job.steps.front().step + kManySteps;
  if (!many && job.steps.size() < kLeastSteps) return training;
  const StepSeen& first = job.steps[many ? 0 : 1];
  const double seconds = static_cast<double>((last.at - first.at).count()) / 1000;
  training.steps_per_s = rate(last.step, first.step, seconds);
  if (first.tokens > 0) training.tokens_per_s = rate(last.tokens, first.tokens, seconds);
  if (training.total_steps >= training.step && training.total_steps > 0 &&
      training.steps_per_s.value_or(0) > 0) {
    training.left_s =
        static_cast<double>(training.total_steps - training.step) / *training.steps_per_s;
  }
  return training;
}

// What needs all ranks of the job.
void TopModel::finish(TopJob& job) const {
  Known known;
  std::erase_if(job.ranks, [&](const TopRank& rank) {
    return !known.emplace(job.id, rank.rank, static_cast<std::uint32_t>(rank.pid)).second;
  });
  std::stable_sort(job.ranks.begin(), job.ranks.end(), [](const TopRank& a, const TopRank& b) {
    return static_cast<unsigned>(a.rank) < static_cast<unsigned>(b.rank);
  });
  std::uint64_t furthest = 0;
  for (const TopRank& rank : job.ranks) {
    if (std::find(job.hosts.begin(), job.hosts.end(), rank.host) == job.hosts.end()) {
      job.hosts.push_back(rank.host);
    }
    if (rank.progress) furthest = std::max(furthest, rank.progress->step);
  }
  const auto seen = jobs_.find(job.id);
  for (const TopRank& rank : job.ranks) {
    // Hosts send their frames at different moments, so a rank that goes on may only look behind.
    const bool still = seen != jobs_.end() && seen->second.still.contains(rank.rank);
    const bool behind = rank.progress && rank.progress->step + kStepsBehind <= furthest;
    if (behind && still && rank.activity) job.behind.push_back(rank.rank);
  }
  if (seen != jobs_.end()) {
    job.wait = seen->second.watch.hang(kToldWait, job.ranks.size());
    // Idle ranks may be a server's, which waits for requests.
    if (job.wait && job.wait->odd.empty() && job.wait->waiting.empty()) job.wait.reset();
    if (seen->second.progress) job.training = training_of(seen->second);
    // The mean of a minute would still show a pace.
    if (job.training && job.wait) {
      job.training->tokens_per_s = job.training->steps_per_s = job.training->left_s = std::nullopt;
    }
  }
  const auto names = [](const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  for (TopRank& rank : job.ranks) {
    rank.is_odd = names(job.behind, rank.rank) || (job.wait && names(job.wait->odd, rank.rank));
  }
}

std::vector<TopOwner> TopModel::owners() const {
  std::map<std::string, std::map<std::string, std::int64_t>> cores;  // by user, by job
  for (const HostSeen& host : hosts_) {
    if (host.state != TopHostState::kWatched || !host.frame.cores) continue;
    for (const ClaimedCores& claim : host.frame.cores->claims) {
      cores[claim.user][claim.job] += claim.cores;
    }
  }
  std::vector<TopOwner> owners;
  for (const auto& [user, jobs] : cores) {
    TopOwner owner{user, 0, {jobs.begin(), jobs.end()}};
    for (const auto& [job, count] : jobs) owner.cores += count;
    std::stable_sort(owner.jobs.begin(), owner.jobs.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    owners.push_back(std::move(owner));
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const auto& a, const auto& b) { return a.cores > b.cores; });
  return owners;
}

TopView TopModel::view(JobTime now) const {
  TopView view;
  std::map<std::string, TopJob> jobs;
  for (const HostSeen& host : hosts_) {
    TopHost shown;
    shown.name = host.name;
    shown.state = host.state;
    shown.reason = host.reason;
    if (host.next_try) {
      shown.next_try_s = static_cast<double>(std::max((*host.next_try - now).count(), 0L)) / 1000;
    }
    add_ranks(host, jobs);
    for (const FrameAgent& agent : host.frame.agents) {
      TopJob& job = jobs[agent.job];
      if (!job.is_whole) job.world += agent.ranks;
      job.age_s = std::max(job.age_s, agent.age_s);
    }
    for (const FrameLauncher& launcher : host.frame.launchers) {
      TopJob& job = jobs[launcher.job];
      job.state = launcher.state;
      job.command = launcher.command;
      job.world = launcher.ranks;
      job.is_whole = true;
      job.age_s = std::max(job.age_s, launcher.age_s);
    }
    if (host.state == TopHostState::kWatched) {
      shown.load = host.frame.load;
      if (host.frame.cores) {
        shown.cores = host.frame.cores->cores;
        shown.free_cores = host.frame.cores->free_cores;
      }
    }
    view.hosts.push_back(std::move(shown));
  }
  for (auto& [id, job] : jobs) {
    job.id = id;
    finish(job);
    view.jobs.push_back(std::move(job));
  }
  std::stable_sort(view.jobs.begin(), view.jobs.end(),
                   [](const TopJob& a, const TopJob& b) { return a.age_s > b.age_s; });
  view.owners = owners();
  return view;
}

bool TopModel::has_heard(int frames, JobTime since) const {
  return std::all_of(hosts_.begin(), hosts_.end(), [&](const HostSeen& host) {
    return host.state == TopHostState::kLost || (host.frames >= frames && host.heard > since);
  });
}

bool TopModel::is_watching() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const HostSeen& host) { return host.state == TopHostState::kWatched; });
}

bool TopModel::has_jobs() const {
  return std::any_of(hosts_.begin(), hosts_.end(), [](const HostSeen& host) {
    return host.state == TopHostState::kWatched &&
           (!host.frame.launchers.empty() || !host.frame.agents.empty());
  });
}

}  // namespace dtl
