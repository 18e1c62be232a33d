#pragma once
// Way: how the Scheduler moves the data of an operation. Plain data.

#include <cstdint>

namespace dtl::ring {

enum class Way : std::uint8_t {
  kDirect,     // every rank sends every other its share at once
  kInOrder,    // the same in order of rank, ignoring nodes
  kOverNodes,  // within the nodes and across them at the same time
  kAround,     // around a ring
  kHalving,    // partners exchange halves, of half as many ranks each time, and back
  kGroups,     // within groups of ranks, then across them, and back
  kAtOnce,     // every rank sends everything to every other
  kDoubling,   // partners exchange, of twice as many ranks each time
  kLeaders,    // the same with one rank of each node, which sums those of its node
  kAnswers,    // two ranks of a node: each overwrites received values with results
  kTree,       // along a binomial tree
  kBinary,     // along a binary tree
  kChain,      // from each rank to the next
  kBoard,      // every rank of the only node shows all others its values (ShmBoard)
};

}  // namespace dtl::ring
