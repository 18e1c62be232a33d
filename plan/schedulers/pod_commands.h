#pragma once
// The command lines that a person types about a pod, for the hints of messages. Pure.

#include <string>
#include <string_view>

#include "plan/request/host.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// How to give the pods of a job one token.
constexpr std::string_view kPodTokenHint =
    "openssl rand -hex 32 | kubectl create secret generic dtlaunch-token "
    "--from-file=token=/dev/stdin, and in the manifest DTL_TOKEN from that Secret";

// ssh's where the evidence lies outside of Kubernetes: kubectl would find no pod there.
const HostCommands& worker_commands(const SchedulerEvidence& evidence);  // of an MPIJob
const HostCommands& pod_commands(const SchedulerEvidence& evidence);

// The command that shows a person what became of a pod, where no SchedulerEvidence is at hand.
std::string describe_pod_command(const std::string& host);

}  // namespace dtl
