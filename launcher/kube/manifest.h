#pragma once
// The manifest of a KubeJob with its patches applied, for `kubectl apply -f`. Pure.
// packaging/kubernetes has examples of each kind.

#include <string>

#include "launcher/kube/kube_job.h"

namespace dtl {

// Ends with a newline. Throws Error(kUsage) for what a manifest cannot hold, and Error(kBadInput)
// for a patch that matches no object or changes nothing.
std::string manifest_of(const KubeJob& job);

}  // namespace dtl
