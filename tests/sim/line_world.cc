// Time, faults and launchers. line_agents.cc has the agents.
#include "tests/sim/line_world.h"

#include <fmt/format.h>

#include <algorithm>

namespace dtl::sim {

LineWorld::LineWorld(std::uint64_t seed, const LineRules& rules)
    : dice_(seed),
      rules_(rules),
      nodes_(draw_nodes(dice_)),
      jobs_(draw_jobs(dice_, nodes_)),
      withdraws_late_(dice_.chance(50)),
      promises_(nodes_, jobs_, now_,
                [this](LineTime delay, Step step) { after(delay, std::move(step)); }) {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    after(jobs_[job].comes, [this, job] { start(job); });
    if (jobs_[job].killed != kNever) after(jobs_[job].killed, [this, job] { kill_job(job); });
    if (jobs_[job].stopped_at != kNever) {
      after(jobs_[job].stopped_at, [this, job] { stop_job(job); });
    }
  }
  plan_faults();
}

void LineWorld::run() {
  constexpr std::size_t kEndless = 100000;  // events; a world has some thousands
  while (!events_.empty() && promises_.complaints().empty() && events_made_ < kEndless) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    event.step();
  }
  if (promises_.complaints().empty()) promises_.world_ended();
}

std::size_t LineWorld::ended(const std::string& why) const {
  return static_cast<std::size_t>(std::count_if(
      jobs_.begin(), jobs_.end(), [&](const LineJob& job) { return job.why == why; }));
}

void LineWorld::after(LineTime delay, Step step) {
  events_.push({now_ + delay, events_made_++, std::move(step)});
}

void LineWorld::tell(std::size_t job, const std::string& what) {
  story_ += fmt::format("{} ms: job {} {}\n", now_.count(), job, what);
}

LineTime LineWorld::message_time() {
  return dice_.chance(95) ? dice_.time(1, 100) : dice_.time(100, 1000);
}

// Messages of a connection stay in order, and are lost with the agent.
void LineWorld::to_agent(std::size_t job, std::size_t at, Step step) {
  LineAgent& agent = jobs_[job].agents[at];
  agent.last_to_it = std::max(now_ + message_time(), agent.last_to_it);
  after(agent.last_to_it - now_, [this, job, at, step = std::move(step)] {
    if (jobs_[job].agents[at].up) step();
  });
}

void LineWorld::to_launcher(std::size_t job, std::size_t at, Step step) {
  LineAgent& agent = jobs_[job].agents[at];
  agent.last_from_it = std::max(now_ + message_time(), agent.last_from_it);
  after(agent.last_from_it - now_, [this, job, step = std::move(step)] {
    if (jobs_[job].state != LineState::kDone) step();
  });
}

void LineWorld::plan_faults() {
  if (!dice_.chance(30)) return;
  const LineTime last =
      std::max_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
        return a.comes < b.comes;
      })->comes;
  for (int i = dice_.draw(1, 2); i > 0; --i) {
    const auto node = static_cast<std::size_t>(dice_.draw(0, static_cast<int>(nodes_.size()) - 1));
    after(dice_.time(0, static_cast<int>(last.count())), [this, node] { kill_host(node); });
  }
}

// Its kernel takes all tickets and claims with it.
void LineWorld::kill_host(std::size_t node) {
  LineNode& dead = nodes_[node];
  if (!dead.up) return;
  story_ += fmt::format("{} ms: node {} dies\n", now_.count(), node);
  dead.up = false;
  ++dead.boot;
  for (const LineClaim& claim : dead.claims) promises_.released(claim);
  dead.claims.clear();
  dead.tickets.clear();
  dead.last_release = now_;
  after(dice_.time(5000, 60000), [this, node] { nodes_[node].up = true; });
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    for (std::size_t at = 0; at < jobs_[job].hosts.size(); ++at) {
      if (jobs_[job].hosts[at] != node || !jobs_[job].agents[at].up) continue;
      jobs_[job].agents[at].up = false;
      after(dice_.time(0, 5000), [this, job] {
        if (jobs_[job].state != LineState::kDone) finish(job, "a host was lost");
      });
    }
  }
}

void LineWorld::kill_job(std::size_t job) {
  LineJob& own = jobs_[job];
  if (own.state == LineState::kDone) return;
  tell(job, "is killed");
  promises_.left_line(job);
  own.state = LineState::kDone;
  own.why = "killed";
  for (std::size_t at = 0; at < own.hosts.size(); ++at) {
    after(dice_.time(0, 3000), [this, job, at] { leave(job, at); });
  }
  state_changed(job);
}

void LineWorld::stop_job(std::size_t job) {
  LineJob& own = jobs_[job];
  if (own.state != LineState::kWaiting || own.stopped || !own.arrival_ms) return;
  tell(job, "is stopped");
  promises_.left_line(job);
  own.stopped = true;
  ++own.generation;
  for (std::size_t at = 0; at < own.hosts.size(); ++at) {
    own.agents[at].free.reset();
    if (!rules_.stopped_keep) to_agent(job, at, [this, job, at] { withdraw(job, at); });
  }
  after(own.stopped_for, [this, job] { continue_job(job); });
  state_changed(job);
}

void LineWorld::continue_job(std::size_t job) {
  if (jobs_[job].state == LineState::kDone) return;
  tell(job, "continues");
  jobs_[job].stopped = false;
  take_tickets(job);
  state_changed(job);
}

void LineWorld::start(std::size_t job) {
  LineJob& own = jobs_[job];
  own.state = LineState::kStarting;
  own.pending = own.hosts.size();
  for (std::size_t at = 0; at < own.hosts.size(); ++at) {
    after(dice_.time(100, 1500), [this, job, at] { hear_hello(job, at); });
  }
}

void LineWorld::hear_hello(std::size_t job, std::size_t at) {
  LineJob& own = jobs_[job];
  if (own.state == LineState::kDone) return;
  if (!node_of(job, at).up) return finish(job, "a host does not answer");
  own.agents[at].up = true;
  CpuSet free = view_of(job, at, nullptr).free;
  if (rules_.ignores_line && !own.waits) {
    free = node_of(job, at).topology.allowed;
    for (const LineClaim& claim : node_of(job, at).claims) free = free - claim.cpus;
  }
  to_launcher(job, at, [this, job, at, free] {
    jobs_[job].agents[at].free = free;
    if (--jobs_[job].pending == 0) plan(job);
  });
}

// The ranks go to the first hosts that have room.
void LineWorld::plan(std::size_t job) {
  LineJob& own = jobs_[job];
  if (own.hostile) return wait(job);
  own.chosen.clear();
  for (std::size_t at = 0; at < own.hosts.size() && own.chosen.size() < own.need; ++at) {
    const std::optional<CpuSet>& free = own.agents[at].free;
    if (free && cpus_to_claim(own, *free).count() == own.cores) own.chosen.push_back(at);
  }
  if (own.chosen.size() == own.need) {
    claim(job);
  } else if (own.state == LineState::kStarting) {
    own.waits ? wait(job) : finish(job, "refused");
  }
}

void LineWorld::wait(std::size_t job) {
  LineJob& own = jobs_[job];
  std::string where;
  for (const std::size_t host : own.hosts) where += fmt::format(" {}", host);
  tell(job, fmt::format("waits for {} cores {} on {} of{}", own.cores, own.cpus.to_list(), own.need,
                        where));
  own.state = LineState::kWaiting;
  if (own.wait_limit > LineTime{0}) {
    after(own.wait_limit, [this, job] {
      const bool waits = jobs_[job].state == LineState::kWaiting && !jobs_[job].stopped;
      if (waits) finish(job, "waited for too long");
    });
  }
  take_tickets(job);
}

// The first host says when it came.
void LineWorld::take_tickets(std::size_t job) {
  LineJob& own = jobs_[job];
  ++own.generation;
  for (LineAgent& agent : own.agents) {
    agent.free.reset();
    agent.blocked_until = LineTime{0};
  }
  const auto to_others = [this, job, generation = own.generation](std::size_t first) {
    if (jobs_[job].generation != generation || jobs_[job].state != LineState::kWaiting) return;
    for (std::size_t at = first; at < jobs_[job].hosts.size(); ++at) {
      to_agent(job, at,
               [this, job, at, ms = *jobs_[job].arrival_ms] { place_ticket(job, at, ms); });
    }
  };
  if (own.arrival_ms) return to_others(0);
  to_agent(job, 0, [this, job, to_others] {
    const LineTime ahead =
        rules_.launchers_clock ? jobs_[job].clock_ahead : node_of(job, 0).clock_ahead;
    const auto ms = static_cast<std::uint64_t>((now_ + ahead).count());
    place_ticket(job, 0, ms);
    to_launcher(job, 0, [this, job, to_others, ms] {
      jobs_[job].arrival_ms = ms;
      to_others(1);
      if (jobs_[job].state == LineState::kWaiting) plan(job);
    });
  });
}

void LineWorld::hear_cores(std::size_t job, std::size_t at, int generation, const CpuSet& free,
                           LineTime starts) {
  LineJob& own = jobs_[job];
  if (generation != own.generation || own.stopped) return;
  own.agents[at].free = free;
  own.agents[at].starts = starts;
  if (own.state == LineState::kWaiting && own.arrival_ms) plan(job);
  tell_of_others(job);
}

// Once all of its hosts have answered.
void LineWorld::tell_of_others(std::size_t job) {
  constexpr LineTime kSame{2500};
  LineJob& own = jobs_[job];
  if (own.state != LineState::kWaiting || !own.arrival_ms || own.need < own.hosts.size()) return;
  std::vector<LineTime> starts;
  for (const LineAgent& agent : own.agents) {
    if (!agent.free) return;
    starts.push_back(agent.starts);
  }
  if (!rules_.tells_of_others) return;
  const std::vector<LineTime> blocked = blocked_until(starts);
  for (std::size_t at = 0; at < own.hosts.size(); ++at) {
    const LineTime until = blocked[at] > now_ ? blocked[at] : LineTime{0};
    const LineTime told = own.agents[at].blocked_until;
    if (std::chrono::abs(until - told) < kSame || (until == LineTime{0} && told <= now_)) continue;
    if (until < told && !rules_.takes_back) continue;
    own.agents[at].blocked_until = until;
    own.agents[at].free.reset();
    to_agent(job, at, [this, job, at, ms = *own.arrival_ms, generation = own.generation] {
      if (jobs_[job].generation == generation) place_ticket(job, at, ms);
    });
  }
}

void LineWorld::claim(std::size_t job) {
  LineJob& own = jobs_[job];
  own.state = LineState::kClaiming;
  own.claimed.clear();
  own.pending = own.chosen.size();
  for (const std::size_t at : own.chosen) {
    const CpuSet cpus = cpus_to_claim(own, *own.agents[at].free);
    to_agent(job, at, [this, job, at, cpus] {
      const bool taken = claim_cores(job, at, cpus);
      to_launcher(job, at, [this, job, at, taken] { hear_claimed(job, at, taken); });
    });
  }
}

void LineWorld::hear_claimed(std::size_t job, std::size_t at, bool taken) {
  LineJob& own = jobs_[job];
  if (taken) own.claimed.push_back(at);
  if (--own.pending > 0) return;
  own.claimed.size() == own.chosen.size() ? run_job(job) : go_back(job);
}

// Another job was faster.
void LineWorld::go_back(std::size_t job) {
  LineJob& own = jobs_[job];
  ++failed_claims_;
  tell(job, "loses its cores");
  if (!own.waits) return finish(job, "refused");
  for (const std::size_t at : own.claimed) {
    if (!rules_.keeps_half) to_agent(job, at, [this, job, at] { release(job, at); });
  }
  promises_.lost_race(job);
  own.state = LineState::kWaiting;
  if (own.generation == 0) return wait(job);
  for (std::size_t at = 0; at < own.hosts.size(); ++at) {
    own.agents[at].free.reset();
    to_agent(job, at, [this, job, at] { look(job, at, true); });
  }
  state_changed(job);
}

void LineWorld::run_job(std::size_t job) {
  LineJob& own = jobs_[job];
  started_from_line_ += own.generation > 0;
  overtook_ += own.generation > 0 && own.cpus.empty() && !promises_.fits_beside(job);
  promises_.left_line(job);
  own.state = LineState::kRunning;
  std::string where;
  for (const std::size_t at : own.chosen) {
    where += fmt::format(" {}:{}", own.hosts[at], own.cores);
  }
  tell(job, fmt::format("runs on{} for {} ms of {}", where, own.lasts.count(), own.limit.count()));
  for (const std::size_t at : own.chosen) {
    to_agent(job, at, [this, job, at] {
      for (LineClaim& claim : node_of(job, at).claims) {
        const auto most = std::chrono::seconds(runs_s_of(jobs_[job]));
        if (claim.job == job && most.count() > 0) claim.until = now_ + most;
      }
      node_changed(jobs_[job].hosts[at]);
    });
  }
  for (std::size_t at = 0; at < own.hosts.size(); ++at) {
    const bool has_ranks = std::count(own.chosen.begin(), own.chosen.end(), at) > 0;
    if (has_ranks && withdraws_late_) continue;
    to_agent(job, at, [this, job, at] { withdraw(job, at); });
  }
  const bool is_limited = own.limit > LineTime{0};
  after(is_limited ? std::min(own.lasts, own.limit) : own.lasts, [this, job] {
    if (jobs_[job].state == LineState::kRunning) finish(job, "ended");
  });
  state_changed(job);
}

void LineWorld::finish(std::size_t job, const std::string& why) {
  LineJob& own = jobs_[job];
  promises_.left_line(job);
  own.state = LineState::kDone;
  own.why = why;
  tell(job, why);
  for (std::size_t at = 0; at < own.hosts.size(); ++at) {
    to_agent(job, at, [this, job, at] { leave(job, at); });
  }
  state_changed(job);
}

void LineWorld::state_changed(std::size_t job) {
  for (const std::size_t node : jobs_[job].hosts) promises_.changed(node);
}

}  // namespace dtl::sim
