#pragma once
// `dtlaunch kube render`: prints a manifest on standard output. dtlaunch-kube(1). It contacts no
// cluster: the user passes the manifest to kubectl.

#include <string>
#include <vector>

namespace dtl {

// Returns the exit status. Throws Error(kUsage) and Error(kBadInput).
int run_kube_command(const std::vector<std::string>& arguments);

}  // namespace dtl
