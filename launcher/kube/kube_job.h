#pragma once
// KubeJob: a job for Kubernetes as a plain value, from `dtlaunch kube render`'s command line and
// the job file. What pods could not do is refused here, before anything is handed to Kubernetes.

#include <string>
#include <vector>

#include "launcher/options/subcommand_options.h"
#include "plan/request/request.h"

namespace dtl {

enum class KubeKind {
  kPyTorchJob,
  kMpiJob,
  kTrainJob,
  kJobSet,
  kIndexedJob,
};

struct PodClaim {
  std::string name, path;  // a PersistentVolumeClaim and where the pods see it
};

struct KubeJob {
  KubeKind kind = KubeKind::kIndexedJob;
  std::string name, name_space;  // the latter may be empty: kubectl's own
  std::string image;
  SizeRange nodes = {1, 1};
  bool elastic = false;  // the number of nodes may change
  int ranks_per_node = 1;
  int cpus = 1;  // of each pod
  std::string memory, shared_memory;
  std::vector<PodClaim> claims;
  int grace_s = 0;                     // from SIGTERM to SIGKILL of ranks
  int restarts = 0;                    // by Kubernetes
  std::string secret;                  // with the token
  std::vector<std::string> arguments;  // of dtlaunch in the pods: options, then the program
  std::vector<std::string> notices;    // for who renders it
};

// Reads the job file. Throws Error(kUsage) and Error(kBadInput).
KubeJob kube_job_of(const SubcommandOptions& options);

}  // namespace dtl
