#include "plan/line/waiting_line.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace dtl {
namespace {

constexpr std::size_t kNoCore = SIZE_MAX;

// The physical cores that jobs may use, by index.
struct Cores {
  CpuSet allowed;
  std::vector<CpuSet> cpus;
  std::vector<std::size_t> of_cpu;  // the core of a CPU, or kNoCore
  std::vector<bool> free;
  std::vector<std::uint64_t> busy_s;  // until its jobs leave; 0: free, or they may leave any moment
  std::vector<std::uint64_t> held_s;  // until a ticket that keeps all of them could start
};

using Mask = std::vector<char>;  // some of the cores, each true or false; quicker than bits

Cores cores_of(const NodeTopology& topology) {
  Cores cores;
  cores.allowed = topology.allowed;
  for (const Core& core : topology.cores) {
    CpuSet cpus = CpuSet(core.cpus) & topology.allowed;
    if (cpus.empty()) continue;
    for (const int cpu : cpus.to_vector()) {
      const auto at = static_cast<std::size_t>(cpu);
      if (at >= cores.of_cpu.size()) cores.of_cpu.resize(at + 1, kNoCore);
      cores.of_cpu[at] = cores.cpus.size();
    }
    cores.cpus.push_back(std::move(cpus));
  }
  cores.free.assign(cores.cpus.size(), true);
  cores.busy_s.assign(cores.cpus.size(), 0);
  cores.held_s.assign(cores.cpus.size(), 0);
  return cores;
}

// A ticket may name tens of thousands of CPUs that the node does not have.
Mask cores_with(const Cores& cores, const CpuSet& cpus) {
  Mask mask(cores.cpus.size());
  for (const int cpu : (cores.allowed & cpus).to_vector()) {
    const auto at = static_cast<std::size_t>(cpu);
    if (at < cores.of_cpu.size() && cores.of_cpu[at] != kNoCore) mask[cores.of_cpu[at]] = true;
  }
  return mask;
}

void take_claims(Cores& cores, const std::vector<CoreClaim>& claims) {
  for (const CoreClaim& claim : claims) {
    if (claim.shared) continue;
    const Mask mask = cores_with(cores, claim.cpus);
    for (std::size_t core = 0; core < mask.size(); ++core) {
      if (!mask[core]) continue;
      cores.free[core] = false;
      cores.busy_s[core] = std::max(cores.busy_s[core], claim.left_s);
    }
  }
}

Mask cores_for(const Ticket& ticket, const Cores& cores) {
  const CpuSet& cpus = ticket.cpus.empty() ? ticket.usable : ticket.cpus;
  return cpus.empty() ? Mask(cores.cpus.size(), true) : cores_with(cores, cpus);
}

struct Place {  // of a ticket in the line
  const Ticket* ticket;
  Mask usable;
};

// A job that wants more than there is waits for the whole node, as all jobs may.
std::size_t wanted_of(const Ticket& ticket, const Mask& usable) {
  const auto most = static_cast<std::size_t>(std::count(usable.begin(), usable.end(), true));
  if (!ticket.cpus.empty()) return most;
  return std::min(static_cast<std::size_t>(std::max(ticket.cores, 0)), most);
}

// How soon the ticket's job could start here, in seconds, if it had no other host, and if those
// before it started as soon as they can. A job with a limit may overtake them.
std::uint64_t earliest_start(const Ticket& ticket, const Cores& cores, const Mask& usable,
                             std::size_t wanted) {
  if (wanted == 0) return 0;
  std::vector<std::uint64_t> starts;
  for (std::size_t core = 0; core < usable.size(); ++core) {
    if (!usable[core]) continue;
    const std::uint64_t held = ticket.runs_s > 0 ? 0 : cores.held_s[core];
    starts.push_back(std::max(cores.busy_s[core], held));
  }
  const auto last = starts.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
  std::nth_element(starts.begin(), last, starts.end());
  return *last;
}

// Nobody behind the ticket who must not overtake it gets these cores before `start`: until then,
// those that are free are too few, and all of them are kept.
void hold(Cores& cores, const Mask& usable, std::uint64_t start) {
  for (std::size_t core = 0; core < usable.size(); ++core) {
    if (usable[core]) cores.held_s[core] = std::max(cores.held_s[core], start);
  }
}

// The cores that the ticket's job may get before `own` ends, which overtakes those that hold
// others.
Mask in_reach(const Ticket& ticket, const Cores& cores, Mask usable, std::uint64_t own_runs_s) {
  if (ticket.runs_s > 0) return usable;  // it may overtake them, too
  for (std::size_t core = 0; core < usable.size(); ++core) {
    if (cores.held_s[core] >= own_runs_s) usable[core] = false;
  }
  return usable;
}

// The order in which to keep cores for jobs that take any: first those that nobody behind them
// wants in particular, then those that `own` wants, then those of the line, the first ticket's at
// the end. Jobs take the first cores that are free for them. So these are kept, and jobs that start
// at the same moment do not want the same ones.
std::vector<std::size_t> order_to_keep(const Cores& cores, const std::vector<Place>& line,
                                       const Ticket* own) {
  std::vector<std::size_t> wanted_by(cores.cpus.size(), line.size() + 1);
  const auto want = [&](const Mask& mask, std::size_t place) {
    for (std::size_t core = 0; core < mask.size(); ++core) {
      if (mask[core]) wanted_by[core] = std::min(wanted_by[core], place);
    }
  };
  for (std::size_t place = 0; place < line.size(); ++place) {
    if (!line[place].ticket->cpus.empty()) want(line[place].usable, place);
  }
  if (own != nullptr) want(cores_for(*own, cores), line.size());
  std::vector<std::size_t> order;
  for (std::size_t core = 0; core < cores.cpus.size(); ++core) order.push_back(core);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return wanted_by[one] > wanted_by[other];
  });
  return order;
}

// They are free no more.
CpuSet keep(Cores& cores, const std::vector<std::size_t>& order, const Mask& usable,
            std::size_t wanted) {
  CpuSet kept;
  for (const std::size_t core : order) {
    if (wanted == 0) break;
    if (!usable[core] || !cores.free[core]) continue;
    kept = kept | cores.cpus[core];
    cores.free[core] = false;
    --wanted;
  }
  return kept;
}

// Those before `own` whose jobs have not started here, in order.
std::vector<Place> line_before(const Ticket* own, const std::vector<Ticket>& tickets,
                               const std::vector<CoreClaim>& claims, const Cores& cores) {
  std::set<std::pair<std::string, std::uint32_t>> started;
  for (const CoreClaim& claim : claims) started.emplace(claim.job_id, claim.user_id);
  std::vector<Place> line;
  for (const Ticket& ticket : tickets) {
    if (own != nullptr && !goes_before(ticket, *own)) continue;
    if (started.contains({ticket.job_id, ticket.user_id})) continue;
    line.push_back({&ticket, cores_for(ticket, cores)});
  }
  std::sort(line.begin(), line.end(), [](const Place& one, const Place& other) {
    return goes_before(*one.ticket, *other.ticket);
  });
  return line;
}

}  // namespace

bool goes_before(const Ticket& a, const Ticket& b) {
  return std::tie(a.arrival_ms, a.job_id) < std::tie(b.arrival_ms, b.job_id);
}

std::vector<CoreClaim> keep_for_waiting(const NodeTopology& topology,
                                        const std::vector<CoreClaim>& claims,
                                        const std::vector<Ticket>& tickets, const Ticket* own) {
  Cores cores = cores_of(topology);
  take_claims(cores, claims);
  std::vector<Place> line = line_before(own, tickets, claims, cores);
  const std::vector<std::size_t> order = order_to_keep(cores, line, own);
  std::vector<CoreClaim> kept;
  for (auto& [ticket, usable] : line) {
    if (std::find(cores.free.begin(), cores.free.end(), true) == cores.free.end()) break;
    const std::size_t wanted = wanted_of(*ticket, usable);
    if (own != nullptr && own->runs_s > 0) {
      const std::uint64_t start = earliest_start(*ticket, cores, usable, wanted);
      const bool overtakes = own->runs_s <= std::max(start, ticket->blocked_s);
      Mask reach = overtakes ? Mask{} : in_reach(*ticket, cores, usable, own->runs_s);
      hold(cores, usable, start);
      if (overtakes) continue;
      usable = std::move(reach);
    }
    CpuSet cpus = keep(cores, order, usable, wanted);
    if (cpus.empty()) continue;
    CoreClaim claim{ticket->job_id, ticket->user_id, ticket->user, ticket->age_s, std::move(cpus)};
    claim.waits = true;
    kept.push_back(std::move(claim));
  }
  return kept;
}

std::uint64_t earliest_start_here(const NodeTopology& topology,
                                  const std::vector<CoreClaim>& claims,
                                  const std::vector<Ticket>& tickets, const Ticket& own) {
  Cores cores = cores_of(topology);
  take_claims(cores, claims);
  for (const auto& [ticket, usable] : line_before(&own, tickets, claims, cores)) {
    hold(cores, usable, earliest_start(*ticket, cores, usable, wanted_of(*ticket, usable)));
  }
  const Mask usable = cores_for(own, cores);
  return earliest_start(own, cores, usable, wanted_of(own, usable));
}

std::vector<std::chrono::milliseconds> blocked_until(
    const std::vector<std::chrono::milliseconds>& starts) {
  constexpr std::chrono::seconds kSame{5};
  std::vector<std::chrono::milliseconds> blocked(starts.size(), std::chrono::milliseconds(0));
  if (starts.empty()) return blocked;
  const auto latest = *std::max_element(starts.begin(), starts.end());
  for (std::size_t node = 0; node < starts.size(); ++node) {
    if (starts[node] + kSame < latest) blocked[node] = latest;
  }
  return blocked;
}

}  // namespace dtl
