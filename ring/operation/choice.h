#pragma once
// choose(): selects algorithm, lane and wire of an operation, only here. Pure. All ranks must
// choose alike, so it may not depend on anything that only one rank knows: no address, no load, no
// time.

#include <cstddef>
#include <cstdint>

#include "ring/arithmetic/reduce.h"
#include "ring/links/link.h"
#include "ring/operation/algorithm_table.h"
#include "ring/operation/cost_model.h"
#include "ring/operation/request.h"
#include "ring/operation/way.h"

namespace dtl::ring {

// Common to all operations of a communicator.
struct Terms {
  int world = 1;
  std::size_t nodes = 1;
  int wire = DT_WIRE_EXACT;  // the meaning of DT_WIRE_DEFAULT
  bool is_deterministic = false;
  AlgorithmTable table = {};  // of allreduce, by size
  LinkCosts costs = {};       // for the other collectives of many ranks
};

struct Choice {
  Algorithm algorithm = Algorithm::kOnly;
  Way way = Way::kDirect;
  Lane lane = Lane::kSmall;
  Wire wire = Wire::kExact;
};

Choice choose(const Request& request, const Terms& terms);

// The most bytes that a rank reads on boards for a sum; beyond it each should sum a part.
constexpr std::uint64_t kMostOnBoard = 128 << 10;
// The most ranks for which all send to all. Beyond it, each has about as many peers as its number
// of ranks has bits, and the cost model decides.
constexpr std::size_t kMaxDirect = 16;
// Operations up to this size use the lane that long ones do not block.
constexpr std::uint64_t kSmallBytes = 64 << 10;

}  // namespace dtl::ring
