#pragma once
// Commands that users type about a pod, for hints in messages. Pure.

#include <string>
#include <string_view>

#include "plan/request/host.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// How to give all pods of a job the same token.
constexpr std::string_view kPodTokenHint =
    "openssl rand -hex 32 | kubectl create secret generic dtlaunch-token "
    "--from-file=token=/dev/stdin, and in the manifest DTL_TOKEN from that Secret";

// ssh's commands if the evidence is not from Kubernetes: kubectl would find no pod there.
const HostCommands& worker_commands(const SchedulerEvidence& evidence);  // of an MPIJob
const HostCommands& pod_commands(const SchedulerEvidence& evidence);

// The command that shows a user what happened to a pod, if no SchedulerEvidence is available.
std::string describe_pod_command(const std::string& host);

}  // namespace dtl
