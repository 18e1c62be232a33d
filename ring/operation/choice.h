#pragma once
// choose(): how an operation is carried out: the one place where algorithm, lane and wire are
// chosen. Pure. All ranks have to choose alike, so nothing that one rank alone knows may count: no
// address, no load, no time.

#include <cstddef>
#include <cstdint>

#include "ring/arithmetic/reduce.h"
#include "ring/links/link.h"
#include "ring/operation/algorithm_table.h"
#include "ring/operation/request.h"

namespace dtl::ring {

// What all operations of a communicator have in common.
struct Terms {
  int world = 1;
  std::size_t nodes = 1;
  int wire = DT_WIRE_EXACT;  // what DT_WIRE_DEFAULT stands for
  bool is_deterministic = false;
  AlgorithmTable table = {};  // of allreduce, by size
};

// What the Scheduler lays out.
enum class Way : std::uint8_t {
  kDirect,     // everybody sends everybody its share at once
  kInOrder,    // the same in order of rank, whoever shares a node
  kOverNodes,  // within the nodes and across them at the same time
  kAround,     // around a ring
  kAtOnce,     // everybody sends everything to everybody
  kDoubling,   // partners exchange, of twice as many ranks each time
  kAnswers,    // two ranks of a node: each writes results over what it was sent
  kTree,       // from rank to rank along a binomial tree
  kChain,      // from each rank to the next
};

struct Choice {
  Algorithm algorithm = Algorithm::kOnly;
  Way way = Way::kDirect;
  Lane lane = Lane::kSmall;
  Wire wire = Wire::kExact;
};

Choice choose(const Request& request, const Terms& terms);

// The most ranks that all send to all. Beyond it, more steps with fewer messages are the guess.
constexpr std::size_t kMaxDirect = 16;
// Operations up to this size take the lane that long ones do not block.
constexpr std::uint64_t kSmallBytes = 64 << 10;

}  // namespace dtl::ring
