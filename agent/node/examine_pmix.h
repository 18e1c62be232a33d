#pragma once
// Whether this host can serve PMIx: whether dtpmix runs here, with which libpmix.

#include <string>
#include <vector>

namespace dtl {

struct PmixFound {
  std::string answer;     // libpmix's version, "4.2.2", or why there is none, for people
  std::string libraries;  // the folder of that libpmix; empty: the loader finds it
};

// Starts dtpmix of `own_folder`, dtagent's: 10 ms, and at most 3 s. The libpmix of a program's Open
// MPI, in one of the `folders`, precedes the host's: a server must not be older than its ranks. The
// answer of 4.2.2 to PMIx_Group_construct, for one, is too short for 5. Never throws.
PmixFound examine_pmix(const std::string& own_folder, const std::vector<std::string>& folders);

}  // namespace dtl
