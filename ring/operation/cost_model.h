#pragma once
// The cost model: how long a collective takes, from the latency and bandwidth of the links. Pure.
// The formulas are those of R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective
// communication operations in MPICH", IJHPCA 19 (2005): alpha (a message), beta (a byte), gamma
// (an addition), with the time of further messages beside the first as in LogGP (overhead), since
// some algorithms send many at once. Ranks of a node share its link.

#include <cstddef>
#include <cstdint>

#include "ring/links/operation_header.h"
#include "ring/operation/way.h"

namespace dtl::ring {

// Seconds. The defaults are those of a usual Ethernet; Tuner measures the first two.
struct LinkCosts {
  double latency = 25e-6;       // alpha: of a short message between nodes
  double byte = 1e-9;           // beta: of each byte, in each direction at once
  double overhead = 8e-6;       // of each further message: CPU time of a send and a receive
  double local_latency = 2e-6;  // alpha within a node
  double local_byte = 0.15e-9;  // beta within a node, for each of its ranks
  double added_byte = 0.1e-9;   // gamma: of each byte that is added to another
  bool is_measured = false;
};

// Where the ranks are.
struct WorldShape {
  std::size_t ranks = 1, nodes = 1;
};

// Sets the latency between nodes, or within the only one. What delays the first message delays the
// others beside it, too: so the overhead follows.
void set_latency(LinkCosts& costs, WorldShape shape, double seconds);
// The same for a byte.
void set_byte(LinkCosts& costs, WorldShape shape, double seconds);

// Seconds of an allreduce of `bytes`.
double allreduce_time(Algorithm algorithm, WorldShape shape, std::uint64_t bytes,
                      const LinkCosts& costs);
// Seconds of the others that have a choice. bytes: of the root's buffer, or the longer one of a
// rank.
double broadcast_time(Way way, WorldShape shape, std::uint64_t bytes, const LinkCosts& costs);
double reduce_time(Way way, WorldShape shape, std::uint64_t bytes, const LinkCosts& costs);
double allgather_time(Way way, WorldShape shape, std::uint64_t bytes, const LinkCosts& costs);

// The number of members in each group for Way::kGroups: the divisor nearest to the square root
// from below; 1: the members cannot be divided.
std::size_t group_size_of(std::size_t members);

}  // namespace dtl::ring
