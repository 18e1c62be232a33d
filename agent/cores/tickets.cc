#include "agent/cores/tickets.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "agent/cores/core_owner.h"
#include "agent/cores/ticket_name.h"
#include "agent/cores/user_name.h"
#include "base/error.h"

namespace dtl {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kUnknownUser = UINT32_MAX;  // no process has it: it is (uid_t)-1

// Rounded down: nobody may expect the job to be blocked for longer than it is.
std::uint64_t blocked_for(milliseconds until) {
  const milliseconds now = boot_clock();
  return until > now ? static_cast<std::uint64_t>((until - now).count()) / 1000 : 0;
}

std::uint64_t seconds_since(std::uint64_t arrival_ms, milliseconds now) {
  const auto now_ms = static_cast<std::uint64_t>(now.count());
  return now_ms > arrival_ms ? (now_ms - arrival_ms) / 1000 : 0;
}

}  // namespace

milliseconds wall_clock() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

milliseconds boot_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(now.tv_nsec));
}

std::string SeenTickets::name_of(uid_t user) {
  const auto [at, is_new] = names_.try_emplace(user);
  if (is_new) at->second = user_name(user);
  return at->second;
}

std::vector<Ticket> SeenTickets::look(const std::vector<NamedSocket>& sockets,
                                      const CpuSet& allowed, std::string_view own_job,
                                      milliseconds now) {
  std::vector<Ticket> tickets;
  if (allowed.empty()) return tickets;
  const int highest = allowed.to_vector().back();
  Known still;
  for (const NamedSocket& socket : sockets) {
    auto says = socket.listens ? read_ticket_name(socket.name, highest) : std::nullopt;
    if (!says || says->job_id == own_job) continue;
    const std::pair key(socket.name, socket.inode);
    auto known = known_.find(key);
    if (known == known_.end()) {
      const auto holder = find_holder(socket);
      if (!holder) continue;
      known = known_.emplace(key, *holder).first;
    }
    const Holder& holder = still.emplace(key, known->second).first->second;
    Ticket ticket{std::move(says->job_id),
                  holder.user.value_or(kUnknownUser),
                  "",
                  says->arrival_ms,
                  seconds_since(says->arrival_ms, now),
                  says->cores,
                  std::move(says->cpus),
                  says->runs_s,
                  holder.usable,
                  blocked_for(says->blocked_until)};
    if (holder.user) ticket.user = name_of(*holder.user);
    tickets.push_back(std::move(ticket));
  }
  known_ = std::move(still);
  // An agent that changes its ticket has two for a moment; the lesser promise counts.
  std::sort(tickets.begin(), tickets.end(), [](const Ticket& a, const Ticket& b) {
    return goes_before(a, b) || (!goes_before(b, a) && a.blocked_s < b.blocked_s);
  });
  const auto same = [](const Ticket& a, const Ticket& b) {
    return !goes_before(a, b) && !goes_before(b, a) && a.user_id == b.user_id;
  };
  tickets.erase(std::unique(tickets.begin(), tickets.end(), same), tickets.end());
  return tickets;
}

std::vector<Ticket> tickets_on_node(const std::vector<NamedSocket>& sockets,
                                    const CpuSet& allowed) {
  return SeenTickets().look(sockets, allowed, {}, wall_clock());
}

std::vector<CoreClaim> taken_on_node(const NodeTopology& topology, const std::string& own_job) {
  try {
    const auto sockets = job_sockets_here();
    std::vector<CoreClaim> claims = claims_on_node(sockets, topology.allowed, own_job);
    std::vector<Ticket> tickets =
        SeenTickets().look(sockets, topology.allowed, own_job, wall_clock());
    for (CoreClaim& kept : keep_for_waiting(topology, claims, tickets, nullptr)) {
      claims.push_back(std::move(kept));
    }
    return claims;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace dtl
