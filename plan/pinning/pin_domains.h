#pragma once
// Applies a PinRequest to one node: gives exactly the requested CPUs, or an error. pinning.cc adds
// threads, cores for communication and memory. Pure.

#include <string>
#include <vector>

#include "plan/pinning/cpu_set.h"
#include "plan/pinning/pin_request.h"
#include "plan/pinning/topology.h"

namespace dtl {

struct PinDomains {
  std::vector<CpuSet> of_rank;        // by local rank; an empty set: not pinned
  std::vector<std::string> warnings;  // without the hostname
};

// threads: the user's OMP_NUM_THREADS, 0 if unset; I_MPI_PIN_DOMAIN=omp uses it. The request's kind
// is neither kDefault nor kNone. Throws Error(kConfig) with the host and the disallowed CPUs of a
// mask.
PinDomains pin_domains(const PinRequest& request, const NodeTopology& topology, int local_size,
                       int threads, const std::string& host);

}  // namespace dtl
