#pragma once
// KubeJob: a job for Kubernetes as a plain value, from `dtlaunch kube render`'s command line and
// the job file. What pods cannot do is refused here, because a mistake in a manifest would only
// show up later, in the cluster. It does not know how manifests look; see manifest.h.

#include <optional>
#include <string>
#include <vector>

#include "launcher/kube/kube_pairs.h"
#include "launcher/kube/kube_patch.h"
#include "launcher/options/subcommand_options.h"
#include "plan/request/request.h"

namespace dtl {

enum class KubeKind {
  // Of Kubeflow's Training Operator, its MPI Operator and its Trainer; then JobSet, and the Indexed
  // Job that every cluster has.
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
  std::string pull_policy;                // empty: the cluster's default
  std::vector<std::string> pull_secrets;  // names of Secrets
  // Pods that run ranks. An MPIJob has one more, for its launcher.
  SizeRange nodes = {1, 1};
  bool elastic = false;  // the number of nodes may change
  int ranks_per_node = 1;
  int cpus = 1;  // of each pod
  // As Kubernetes writes amounts ("16Gi"); both were checked.
  std::string memory, shared_memory;
  // Mounted in every pod that runs ranks.
  std::vector<PodClaim> claims;
  KubePairs labels;                    // of the job's own object
  KubePairs node_selector;             // of all pods
  KubePairs environment;               // of the containers that run dtlaunch
  std::vector<KubePatch> patches;      // in the order in which they are applied
  std::optional<int> deadline_s;       // Kubernetes ends the job then
  int grace_s = 0;                     // seconds from SIGTERM to SIGKILL of ranks
  int restarts = 0;                    // by Kubernetes
  std::string secret;                  // the name of the Secret with the token
  std::vector<std::string> arguments;  // of dtlaunch in the pods: options, then the program
  std::vector<std::string> notices;    // for who renders it
};

// Reads the job file too. Throws Error(kUsage) and Error(kBadInput).
KubeJob kube_job_of(const SubcommandOptions& options);

}  // namespace dtl
