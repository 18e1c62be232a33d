#pragma once
// choose(): selects algorithm, lane and wire of an operation, only here. Pure. All ranks must
// choose alike, so it may not depend on anything that only one rank knows: no address, no load, no
// time.

#include <cstddef>
#include <cstdint>

#include "ring/arithmetic/reduce.h"
#include "ring/links/link.h"
#include "ring/operation/algorithm_table.h"
#include "ring/operation/request.h"

namespace dtl::ring {

// Common to all operations of a communicator.
struct Terms {
  int world = 1;
  std::size_t nodes = 1;
  int wire = DT_WIRE_EXACT;  // the meaning of DT_WIRE_DEFAULT
  bool is_deterministic = false;
  AlgorithmTable table = {};  // of allreduce, by size
};

// The algorithms of the Scheduler.
enum class Way : std::uint8_t {
  kDirect,     // every rank sends every other its share at once
  kInOrder,    // the same in order of rank, ignoring nodes
  kOverNodes,  // within the nodes and across them at the same time
  kAround,     // around a ring
  kHalving,    // partners exchange halves, of half as many ranks each time, and back
  kAtOnce,     // every rank sends everything to every other
  kDoubling,   // partners exchange, of twice as many ranks each time
  kAnswers,    // two ranks of a node: each overwrites received values with results
  kTree,       // along a binomial tree
  kChain,      // from each rank to the next
};

struct Choice {
  Algorithm algorithm = Algorithm::kOnly;
  Way way = Way::kDirect;
  Lane lane = Lane::kSmall;
  Wire wire = Wire::kExact;
};

Choice choose(const Request& request, const Terms& terms);

// The most ranks for which all send to all. Beyond it, the guess is more steps with fewer messages.
constexpr std::size_t kMaxDirect = 16;
// Operations up to this size use the lane that long ones do not block.
constexpr std::uint64_t kSmallBytes = 64 << 10;

}  // namespace dtl::ring
