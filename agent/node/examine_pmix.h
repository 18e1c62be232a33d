#pragma once
// Whether this host can serve PMIx: whether dtpmix runs here, with which libpmix.

#include <functional>
#include <string>
#include <vector>

namespace dtl {

struct PmixFound {
  std::string answer;     // libpmix's version, "4.2.2", or why there is none, for people
  std::string libraries;  // the folder of that libpmix; empty: the loader finds it
};

// Starts dtpmix of `own_folder`, dtagent's: 10 ms, and at most 3 s. If the loader finds no libpmix,
// again with that of each of the `folders`. Never throws.
PmixFound examine_pmix(const std::string& own_folder,
                       const std::function<std::vector<std::string>()>& folders);

}  // namespace dtl
