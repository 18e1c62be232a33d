#pragma once
// `dtlaunch kube render`: a manifest on standard output. dtlaunch-kube(1).

#include <string>
#include <vector>

namespace dtl {

// Throws Error.
int run_kube_command(const std::vector<std::string>& arguments);

}  // namespace dtl
