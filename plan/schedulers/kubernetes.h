#pragma once
// The kinds of jobs of Kubernetes: MPIJob, whose launcher finds workers over ssh; PyTorchJob,
// TrainJob, and Indexed Job with JobSet, whose pods have a dtlaunch each. Pure.

#include <string>
#include <vector>

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kMpiJob, kTrainJob, kPyTorchJob, kIndexedJob;

constexpr const char* kRunningWorkers = "/etc/mpi/discover_hosts.sh";
// The names in MPIJob's discover_hosts.sh, which is read and not run.
std::vector<std::string> running_workers(const std::string& text);

// What a person types to see what became of a pod.
std::string describe_pod_command(const std::string& host);

}  // namespace dtl
