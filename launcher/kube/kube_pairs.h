#pragma once
// KubePairs: values NAME=VALUE of kube render's options: labels and variables. Refuses what
// Kubernetes would reject or the ranks would never see. Pure.

#include <string>
#include <utility>
#include <vector>

namespace dtl {

using KubePairs = std::vector<std::pair<std::string, std::string>>;

// Labels, for --label and --node-selector. option: as typed, for messages. Throws Error(kUsage).
KubePairs parse_labels(const std::string& option, const std::vector<std::string>& words);

// Variables of the pods' environment, for --env. Throws Error(kUsage).
KubePairs parse_variables(const std::vector<std::string>& words);

}  // namespace dtl
