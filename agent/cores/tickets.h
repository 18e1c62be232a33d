#pragma once
// The tickets on this node: who waits for its cores. A ticket is a listening abstract unix socket,
// like a claim (core_claims.h).

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/cores/socket_holder.h"
#include "plan/line/waiting_line.h"

namespace dtl {

std::chrono::milliseconds wall_clock();  // since 1970
std::chrono::milliseconds boot_clock();  // CLOCK_BOOTTIME, the same for all processes of the node

class SeenTickets {
 public:
  // Those of all jobs but `own_job`, in the order of the line, one for each. now: since 1970.
  // Remembers whose the sockets are, since finding it out costs a connection each.
  std::vector<Ticket> look(const std::vector<NamedSocket>& sockets, const CpuSet& allowed,
                           std::string_view own_job, std::chrono::milliseconds now);

 private:
  using Known = std::map<std::pair<std::string, std::uint32_t>, Holder>;  // name and inode
  std::string name_of(uid_t user);

  Known known_;
  std::map<uid_t, std::string> names_;
};

std::vector<Ticket> tickets_on_node(const std::vector<NamedSocket>& sockets, const CpuSet& allowed);

// What jobs other than `own_job` have of the node, and what it keeps for those that wait. Never
// throws: if the kernel does not say, nothing.
std::vector<CoreClaim> taken_on_node(const NodeTopology& topology, const std::string& own_job);

}  // namespace dtl
