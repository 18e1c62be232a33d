#pragma once
// PlannedWorld: the schedules of all ranks of a communicator, carried out in this process without
// links or threads, so that hundreds of ranks take milliseconds. Bytes move in random portions as
// their gates allow, and are read as late as possible: so a plan that overwrites what it still
// sends gives wrong sums. Only for f32 and DT_SUM.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"

namespace dtl::ring::test {

class PlannedWorld {
 public:
  // `nodes`: of each rank, as a key.
  explicit PlannedWorld(std::vector<int> nodes);

  // For each rank, its request; buffers must outlive run().
  void plan(const std::vector<Request>& requests, const Choice& choice);
  // Fails the test if pieces of two ends differ, or if nothing can move before all is done.
  void run(unsigned seed);

  std::size_t most_peers() const;
  // Of all ranks together.
  std::uint64_t messages() const;
  // The most bytes that one rank sends.
  std::uint64_t most_sent() const;

 private:
  struct Rank {
    NodeMap map;
    Operation operation;
    Arena scratch;
    Schedule schedule;
  };
  bool fits_its_peers(Rank& rank);
  bool move(Rank& from, Flow& out, Rank& to);
  static bool deliver(Rank& to, Flow& in, const std::byte* data, std::uint64_t bytes);
  static bool advance(Rank& rank, Sum& sum);

  std::deque<Rank> ranks_;
  std::mt19937 random_;
};

}  // namespace dtl::ring::test
