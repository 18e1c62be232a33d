#include "agent/cores/tickets.h"

#include <algorithm>
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

std::uint64_t seconds_since(std::uint64_t arrival_ms, milliseconds now) {
  const auto now_ms = static_cast<std::uint64_t>(now.count());
  return now_ms > arrival_ms ? (now_ms - arrival_ms) / 1000 : 0;
}

}  // namespace

milliseconds wall_clock() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
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
                  holder.usable};
    if (holder.user) ticket.user = name_of(*holder.user);
    tickets.push_back(std::move(ticket));
  }
  known_ = std::move(still);
  std::sort(tickets.begin(), tickets.end(), goes_before);
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
