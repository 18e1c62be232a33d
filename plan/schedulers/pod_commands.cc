// Constants, and the rule which of them a host gets.
#include "plan/schedulers/pod_commands.h"

#include "plan/request/command_text.h"

namespace dtl {
namespace {

// A pod ends with the job. Only an MPIJob's workers stay, so commands can run there.
constexpr std::string_view kDescribePod = "kubectl {3}describe pod {0}";
constexpr std::string_view kInPod = "kubectl {3}exec {0} -- sh -c {2}";
constexpr HostCommands kPodCommands = {
    .state = kDescribePod,
    .kills = kDescribePod,
    .ends = "the end of the pod",
    .runs = kDescribePod,
    .pods = true,
};
constexpr HostCommands kWorkerCommands = {
    .state = kDescribePod,
    .kills = kDescribePod,
    .ends = kInPod,
    .runs = kInPod,
    .login = "kubectl {3}logs {0}",  // its sshd logs rejected logins, with the reason
    .pods = true,
};

// Nodes started by hand or by another scheduler. Most can be reached over ssh.
constexpr HostCommands kNodeCommands = {
    .state = "ssh {0} uptime",
    .kills = "ssh {0} 'dmesg | grep -i killed'",
    .ends = "ssh {0} {2}",
    .runs = "ssh {0} {2}",
};

}  // namespace

const HostCommands& worker_commands(const SchedulerEvidence& evidence) {
  return evidence.outside_kubernetes ? kNodeCommands : kWorkerCommands;
}

const HostCommands& pod_commands(const SchedulerEvidence& evidence) {
  if (evidence.outside_kubernetes) return kNodeCommands;
  return evidence.hosts_come_late ? kWorkerCommands : kPodCommands;
}

std::string describe_pod_command(const std::string& host) {
  Host pod;
  pod.name = host;
  pod.access.commands = &kPodCommands;
  return state_command(pod);
}

}  // namespace dtl
