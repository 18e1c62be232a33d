#pragma once
// AlgorithmTable: the algorithm of an allreduce by its size: guessed, set by the user, or measured
// (api/tuner.h). Equal on all ranks of a communicator, because ranks that chose differently would
// not fit together.

#include <cstdint>
#include <string>
#include <vector>

#include "ring/links/operation_header.h"
#include "ring/operation/cost_model.h"

namespace dtl::ring {

class AlgorithmTable {
 public:
  // For this many ranks and nodes: guesses for few ranks, the cost model's choice for many.
  static AlgorithmTable by_default(int world, std::size_t nodes, const LinkCosts& costs = {});
  // "oneshot:0-32K;direct:32K-4M;ring:4M-max", or one name for all sizes. Sizes in bytes; the upper
  // one belongs to the next range. recursive_doubling is another name for doubling. Throws
  // CommError(DT_E_INVAL) naming the invalid piece; sizes without a range use `otherwise`.
  static AlgorithmTable parse(const std::string& text, const AlgorithmTable& otherwise);

  // Those that are considered, in the order of their steps.
  static std::vector<Algorithm> candidates(WorldShape shape);
  // So few ranks that trying them is cheaper than being wrong.
  static bool is_timed(WorldShape shape);

  Algorithm choose(std::uint64_t bytes) const;
  std::string text() const;
  // Overrides the table for sizes from `from` up to but excluding `to`, in bytes.
  void set(Algorithm algorithm, std::uint64_t from, std::uint64_t to);

 private:
  struct Range {
    Algorithm algorithm;
    std::uint64_t from, to;
  };
  std::vector<Range> ranges_;  // the first that contains a size counts
};

constexpr std::uint64_t kAnySize = UINT64_MAX;

}  // namespace dtl::ring
