#pragma once
// A PinRequest applied to one node: exactly what was asked for, or an error. pinning.cc adds
// threads, cores for communication and memory to the CPUs that come out here. Pure.

#include <string>
#include <vector>

#include "plan/pinning/cpu_set.h"
#include "plan/pinning/pin_request.h"
#include "plan/pinning/topology.h"

namespace dtl {

struct PinDomains {
  std::vector<CpuSet> of_rank;        // by local rank; an empty set: not pinned
  std::vector<std::string> warnings;  // without the host's name
};

// threads: the OMP_NUM_THREADS that the user set, 0 without; I_MPI_PIN_DOMAIN=omp counts by it. The
// request's kind is neither kDefault nor kNone. Throws Error(kConfig) with the host and the CPUs of
// a mask that it does not allow.
PinDomains pin_domains(const PinRequest& request, const NodeTopology& topology, int local_size,
                       int threads, const std::string& host);

}  // namespace dtl
