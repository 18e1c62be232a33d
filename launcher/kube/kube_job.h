#pragma once
// KubeJob: a job for Kubernetes as a plain value, from `dtlaunch kube render`'s command line and
// the job file. Refuses what pods cannot do, because a mistake in a manifest would only show later,
// in the cluster. manifest.h renders it.

#include <optional>
#include <string>
#include <vector>

#include "launcher/kube/kube_pairs.h"
#include "launcher/kube/kube_patch.h"
#include "launcher/options/subcommand_options.h"
#include "plan/request/request.h"

namespace dtl {

enum class KubeKind {
  // Kinds of Kubeflow's Training Operator, MPI Operator and Trainer; then JobSet, and the Indexed
  // Job that every cluster has.
  kPyTorchJob,
  kMpiJob,
  kTrainJob,
  kJobSet,
  kIndexedJob,
};

struct PodClaim {
  std::string name, path;  // a PersistentVolumeClaim and its mount path
};

struct KubeJob {
  KubeKind kind = KubeKind::kIndexedJob;
  std::string name, name_space;  // name_space may be empty: kubectl's own
  std::string image;
  std::string pull_policy;                // empty: the cluster's default
  std::vector<std::string> pull_secrets;  // names of Secrets
  // Pods that run ranks. An MPIJob has an additional launcher pod.
  SizeRange nodes = {1, 1};
  bool elastic = false;  // the number of nodes may change
  int ranks_per_node = 1;
  int cpus = 1;  // of each pod
  // In Kubernetes's notation ("16Gi"); both are checked.
  std::string memory, shared_memory;
  // Mounted in every pod that runs ranks.
  std::vector<PodClaim> claims;
  KubePairs labels;                    // of the job's own object
  KubePairs node_selector;             // of all pods
  KubePairs environment;               // of the containers that run dtlaunch
  std::vector<KubePatch> patches;      // applied in this order
  std::optional<int> deadline_s;       // then Kubernetes ends the job
  int grace_s = 0;                     // seconds from SIGTERM to SIGKILL of ranks
  int restarts = 0;                    // by Kubernetes
  std::string secret;                  // the name of the Secret with the token
  std::vector<std::string> arguments;  // of dtlaunch in the pods: options, then the program
  std::vector<std::string> notices;    // for the user who renders
};

// Reads the job file too. Throws Error(kUsage) and Error(kBadInput).
KubeJob kube_job_of(const SubcommandOptions& options);

}  // namespace dtl
