// The agents of a line_world.h, and what is true on the hosts.
#include <algorithm>

#include "tests/sim/line_world.h"

namespace dtl::sim {

CpuSet LineWorld::cpus_to_claim(const LineJob& job, const CpuSet& free) const {
  if (!job.cpus.empty()) return job.cpus & free;
  CpuSet cpus;
  int wanted = job.cores;
  for (const int cpu : free.to_vector()) {
    if (wanted-- > 0) cpus.add(cpu);
  }
  return cpus;
}

LineWorld::View LineWorld::view_of(std::size_t job, std::size_t at, const Ticket* own) const {
  const LineNode& node = nodes_[jobs_[job].hosts[at]];
  std::vector<CoreClaim> claims;
  View view;
  CpuSet& free = view.free = node.topology.allowed;
  for (const LineClaim& claim : node.claims) {
    if (claim.job == job) continue;
    const LineJob& its = jobs_[claim.job];
    CoreClaim& seen = claims.emplace_back(CoreClaim{its.id, its.user, "", 0, claim.cpus});
    if (claim.until != kNever && claim.until > now_) {
      seen.left_s = static_cast<std::uint64_t>((claim.until - now_).count() / 1000);
    }
    free = free - claim.cpus;
  }
  std::vector<Ticket> tickets;
  for (const LineTicket& ticket : node.tickets) {
    Ticket& says = tickets.emplace_back(ticket.says);
    const LineTime left = ticket.blocked_until - now_;
    if (left > LineTime{0}) says.blocked_s = static_cast<std::uint64_t>(left.count() / 1000);
  }
  if (own != nullptr) {
    const auto starts = std::chrono::seconds(rules_.starts(node.topology, claims, tickets, *own));
    if (starts.count() > 0) view.starts = now_ + starts;
  }
  for (const CoreClaim& kept : rules_.keep(node.topology, claims, tickets, own)) {
    free = free - kept.cpus;
  }
  return view;
}

void LineWorld::place_ticket(std::size_t job, std::size_t at, std::uint64_t arrival_ms) {
  const LineJob& own = jobs_[job];
  LineNode& node = node_of(job, at);
  if (own.state == LineState::kDone && !rules_.tickets_stay) return;
  withdraw(job, at);
  LineTicket& ticket = node.tickets.emplace_back(LineTicket{job, {}});
  ticket.says.job_id = own.id;
  ticket.says.user_id = own.user;
  ticket.says.arrival_ms = arrival_ms;
  if (rules_.each_hosts_clock) {
    ticket.says.arrival_ms = static_cast<std::uint64_t>((now_ + node.clock_ahead).count());
  }
  ticket.says.cores = own.cores;
  ticket.says.cpus = own.cpus;
  ticket.says.runs_s = runs_s_of(own);
  ticket.blocked_until = own.agents[at].blocked_until;
  promises_.ticket_taken(job, own.hosts[at], at == 0);
  node_changed(own.hosts[at]);
  look(job, at, true);
}

void LineWorld::withdraw(std::size_t job, std::size_t at) {
  if (std::erase_if(node_of(job, at).tickets, [&](const auto& one) { return one.job == job; }) >
      0) {
    node_changed(jobs_[job].hosts[at]);
  }
}

void LineWorld::plan_look(std::size_t job, std::size_t at, LineTime delay) {
  after(delay, [this, job, at] {
    jobs_[job].agents[at].look_planned = false;
    look(job, at, false);
  });
}

// Tells the launcher what is free for it, if that is news.
void LineWorld::look(std::size_t job, std::size_t at, bool tell_anyway) {
  LineAgent& agent = jobs_[job].agents[at];
  const LineNode& node = node_of(job, at);
  const auto ticket = std::find_if(node.tickets.begin(), node.tickets.end(),
                                   [&](const LineTicket& one) { return one.job == job; });
  if (!agent.up || ticket == node.tickets.end()) return;
  constexpr LineTime kSame{2500};
  View view = view_of(job, at, &ticket->says);
  const bool is_same =
      agent.told == view.free && std::chrono::abs(agent.told_starts - view.starts) < kSame;
  if (tell_anyway || !is_same) {
    agent.told = view.free;
    agent.told_starts = view.starts;
    to_launcher(job, at,
                [this, job, at, view = std::move(view), generation = jobs_[job].generation] {
                  hear_cores(job, at, generation, view.free, view.starts);
                });
  }
  // The next moment at which a job that runs has less time left than this one needs.
  LineTime next = kNever;
  for (const LineClaim& claim : node.claims) {
    const LineTime moment = claim.until - std::chrono::seconds(ticket->says.runs_s);
    if (claim.until != kNever && moment >= now_) next = std::min(next, moment);
  }
  for (const LineTicket& other : node.tickets) {
    const LineTime moment = other.blocked_until - std::chrono::seconds(ticket->says.runs_s);
    if (other.job != job && moment >= now_) next = std::min(next, moment);
  }
  if (next == kNever || ticket->says.runs_s == 0 || !rules_.looks_again) return;
  plan_look(job, at, next - now_ + dice_.time(1, 1000));
}

// An agent has all the cores, or none.
bool LineWorld::claim_cores(std::size_t job, std::size_t at, const CpuSet& cpus) {
  release(job, at);
  LineNode& node = node_of(job, at);
  for (const LineClaim& claim : node.claims) {
    if (rules_.claims_exclude && !(claim.cpus & cpus).empty()) return false;
  }
  node.claims.push_back({job, claims_made_++, cpus, now_, kNever});
  promises_.claimed(node.claims.back(), jobs_[job].hosts[at]);
  node_changed(jobs_[job].hosts[at]);
  return true;
}

void LineWorld::release(std::size_t job, std::size_t at) {
  LineNode& node = node_of(job, at);
  for (std::size_t i = 0; i < node.claims.size(); ++i) {
    if (node.claims[i].job != job) continue;
    promises_.released(node.claims[i]);
    node.claims.erase(node.claims.begin() + static_cast<std::ptrdiff_t>(i));
    node.last_release = now_;
    node_changed(jobs_[job].hosts[at], true);
    return;
  }
}

void LineWorld::leave(std::size_t job, std::size_t at) {
  if (!jobs_[job].agents[at].up) return;
  jobs_[job].agents[at].up = false;
  if (!rules_.tickets_stay) withdraw(job, at);
  release(job, at);
}

// Agents look once a second.
void LineWorld::node_changed(std::size_t node, bool is_release) {
  promises_.changed(node);
  if (is_release && !rules_.tells_of_releases) return;
  for (const LineTicket& ticket : nodes_[node].tickets) {
    LineJob& job = jobs_[ticket.job];
    for (std::size_t at = 0; at < job.hosts.size(); ++at) {
      if (job.hosts[at] != node || job.agents[at].look_planned) continue;
      job.agents[at].look_planned = true;
      plan_look(ticket.job, at, dice_.time(0, 1000));
    }
  }
}

}  // namespace dtl::sim
