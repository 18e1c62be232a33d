#pragma once
// The manifest of a KubeJob, with its patches applied: what `kubectl apply -f` takes. Pure.
// packaging/kubernetes has what it prints for each kind.

#include <string>

#include "launcher/kube/kube_job.h"

namespace dtl {

// Ends with a newline. Throws Error(kUsage) for what cannot be written in a manifest, and
// Error(kBadInput) for a patch that fits no object or changes nothing.
std::string manifest_of(const KubeJob& job);

}  // namespace dtl
