#pragma once
// dtring-perf --links: measures every link between the ranks of a job, in both directions, with one
// rank on each host. One bad cable or port slows down a whole job, and sums over all ranks do not
// show which. `dtlaunch doctor` and `forecast` start it, and parse the lines of --raw.

#include <string>

namespace dtl::ring {

// Under a launcher, on every rank. Returns text on rank 0, nothing on others: a table, or raw lines
// "link FROM TO GBIT/S ROUND-TRIP-US CPU-NS"; CPU-NS: for a byte, of sender and receiver together.
// -1 means that it could not be measured. Throws Error.
std::string measure_links(bool raw);

}  // namespace dtl::ring
