#pragma once
// The manifest of a KubeJob: what `kubectl apply -f` takes, with comment lines above it that say
// what else has to be done. Pure. packaging/kubernetes has what it prints for each kind.

#include <string>

#include "launcher/kube/kube_job.h"

namespace dtl {

// Ends with a newline. Throws Error(kUsage) for what cannot be written in a manifest.
std::string manifest_of(const KubeJob& job);

}  // namespace dtl
