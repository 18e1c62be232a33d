#pragma once
// KubePairs: the values of kube render's options of the form NAME=VALUE: labels and variables. What
// Kubernetes or the ranks would refuse or never see is refused here. Pure.

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
