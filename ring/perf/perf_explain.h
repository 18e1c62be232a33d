#pragma once
// Why libdtring chooses which algorithm for an allreduce: what it knows of the links, and the times
// that its cost model predicts. Pure.

#include <string>

namespace dtl::ring {

// A table of at most 80 columns. stats: of dt_stats_json.
std::string explain(const std::string& stats);

}  // namespace dtl::ring
