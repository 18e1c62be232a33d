#pragma once
// A table of measurements between every two hosts, at most 80 columns wide. Here because two
// programs print it: dtlaunch doctor and dtring-perf --links. Pure.

#include <string>
#include <vector>

namespace dtl {

// gbits[from][to]; a negative value was not measured. Rows are senders, columns receivers, by
// number if there are many.
std::string link_table(const std::vector<std::string>& names,
                       const std::vector<std::vector<double>>& gbits);

}  // namespace dtl
