#pragma once
// What was measured between every two hosts, as a table of at most 80 columns. Pure.

#include <string>
#include <vector>

namespace dtl {

// gbits[from][to]; a value below 0 was not measured. Rows say from whom, columns to whom, by
// number where there are many.
std::string link_table(const std::vector<std::string>& names,
                       const std::vector<std::vector<double>>& gbits);

}  // namespace dtl
