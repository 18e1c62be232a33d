#pragma once
// CoreOwner: this agent's claim of cores for its job, and what other jobs have. Not thread-safe.

#include <chrono>
#include <string>
#include <vector>

#include "agent/cores/core_claims.h"
#include "base/fd.h"
#include "wire/messages.h"

namespace dtl {

class CoreOwner {
 public:
  // allowed: the CPUs that count, those that this agent may use.
  CoreOwner(std::string job_id, CpuSet allowed);

  // What other jobs have, as Hello reports it. Empty if the kernel does not say; see claim().
  std::vector<CoreClaim> of_others() const;

  // Waits for a quarter of a second at most if another job wants the same cores at the same moment.
  CoresClaimed claim(const ClaimCores& order);
  void release();
  // Call it about once a second. Agents that look at this claim connect to it; this closes their
  // connections.
  void answer();

 private:
  struct Rivals {  // other jobs that want the same cores for themselves
    bool claimed = false, intended = false;
    bool one_goes_first = false;  // of those that intend it
  };

  void intend(const ClaimName& own);
  void tell_end(const ClaimName& own, std::chrono::seconds runs);
  bool share(const ClaimName& own);
  bool own_alone(const ClaimName& own, const std::vector<std::string>& around);
  Rivals look(const ClaimName& own, const std::vector<std::string>& around) const;

  const std::string job_id_;
  const CpuSet allowed_;
  std::vector<Fd> sockets_;  // several if the CPUs do not fit into one name, or it ends by a time
};

// What jobs other than `own_job` have of these CPUs. sockets: of the node.
std::vector<CoreClaim> claims_on_node(const std::vector<NamedSocket>& sockets,
                                      const CpuSet& allowed, const std::string& own_job = {});

// As the wire carries them: the parts of a claim together, the oldest first. What one user has
// claimed twice, as jobs inside of jobs do, is there twice for kMaxAround claims only, so that
// nobody can make the list long. `now` of CLOCK_BOOTTIME.
std::vector<CoreClaim> summarize(const std::vector<SeenClaim>& claims,
                                 std::chrono::milliseconds now);

}  // namespace dtl
