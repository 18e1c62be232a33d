#pragma once
// The kinds of jobs of Kubernetes: MPIJob, whose launcher finds workers over ssh; PyTorchJob,
// TrainJob, and Indexed Job with JobSet, whose pods have a dtlaunch each. All is read from
// variables and mounted files: no pod needs a right to ask Kubernetes itself. Pure.

#include <string>
#include <vector>

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kMpiJob, kTrainJob, kPyTorchJob, kIndexedJob;

constexpr const char* kRunningWorkers = "/etc/mpi/discover_hosts.sh";
// The names in MPIJob's discover_hosts.sh, which is read and not run. Throws Error(kBadInput) for a
// name that is not one.
std::vector<std::string> running_workers(const std::string& text);

}  // namespace dtl
