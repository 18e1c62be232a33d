#pragma once
// The kinds of Kubernetes jobs: MPIJob, whose launcher reaches workers over ssh; PyTorchJob,
// TrainJob, and Indexed Job with JobSet, whose pods each run a dtlaunch. Reads only variables and
// mounted files: no pod needs permission to ask Kubernetes. Pure.

#include <string>
#include <vector>

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kMpiJob, kTrainJob, kPyTorchJob, kIndexedJob;

constexpr const char* kRunningWorkers = "/etc/mpi/discover_hosts.sh";
// The names in MPIJob's discover_hosts.sh, which is parsed, not run. Throws Error(kBadInput) for an
// invalid name.
std::vector<std::string> running_workers(const std::string& text);

}  // namespace dtl
