#pragma once
// dtring-perf --links: measures every link between the ranks of a job, in both directions, with one
// rank on each host. One bad cable or port slows a whole job down, and sums over all ranks do not
// show which. `dtlaunch doctor` starts it, and reads the lines of --raw.

#include <string>

namespace dtl::ring {

// Under a launcher, on every rank. Rank 0 gets text, all others nothing: a table, or raw lines
// "link FROM TO GBIT/S ROUND-TRIP-US", with -1 for a link that could not be measured. Throws Error.
std::string measure_links(bool raw);

}  // namespace dtl::ring
