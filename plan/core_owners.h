#pragma once
// Cores that other jobs have on the nodes: this job takes what they leave. A job with --share-cores
// or --oversubscribe does not look. Pure.

#include <optional>
#include <string>
#include <vector>

#include "plan/job_plan.h"
#include "plan/pinning/topology.h"
#include "plan/placement.h"
#include "plan/request/request.h"

namespace dtl {

class Error;

bool shares_cores(const Request& request);

// The jobs inside of which a dtlaunch with this environment runs, the innermost first: their cores
// are its own.
std::vector<std::string> jobs_around(const Variables& environment);

// Claims that this job must respect, empty if it shares: exclusive ones, not of jobs around it.
std::vector<CoreClaim> claims_to_respect(const Request& request, const NodeFacts& facts);

// Physical cores that other jobs leave of the node's budget; nullopt if no claim concerns it.
std::optional<int> cores_left(const Request& request, const NodeFacts& facts);

// make_job_plan() with what other jobs leave. Throws too_few_cores() if it is too little.
JobPlan plan_beside_others(const Request& request, const std::vector<NodeFacts>& facts,
                           const std::vector<RankPlace>& places, const Network& network,
                           const std::string& job_id);

// What the ranks of a node claim: their CPUs and those for communication, all CPUs of each core.
// Ranks without pins may run anywhere, so they claim all CPUs, and share them.
struct CoreWish {
  CpuSet cpus;
  bool shared = false;
  std::size_t cores = 0;  // of these CPUs
};
CoreWish cores_to_claim(const Request& request, const NodePlan& node, const NodeFacts& facts);

// Why there are too few cores. facts: of all hosts of the request.
Error too_few_cores(const Request& request, const std::vector<NodeFacts>& facts);

// "job 1a2b of alice has had 6 of 8 cores for 2h05m", of the claims in order.
std::string owners_text(const std::vector<CoreClaim>& claims, const NodeTopology& topology);

}  // namespace dtl
