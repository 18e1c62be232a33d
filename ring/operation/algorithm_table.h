#pragma once
// AlgorithmTable: which algorithm an allreduce of a given size takes: guessed, named by the user,
// or measured (api/tuner.h). Equal on all ranks of a communicator, because ranks that chose
// differently would not fit together.

#include <cstdint>
#include <string>
#include <vector>

#include "ring/links/operation_header.h"

namespace dtl::ring {

class AlgorithmTable {
 public:
  // Guesses for a world of this many ranks on this many nodes.
  static AlgorithmTable by_default(int world, std::size_t nodes);
  // "oneshot:0-32K;direct:32K-4M;ring:4M-max", or one name for all sizes. Sizes in bytes; the upper
  // one belongs to the next range. recursive_doubling is another name for doubling. Throws
  // CommError(DT_E_INVAL) naming the piece that is wrong; sizes that no range names keep the
  // default's algorithm.
  static AlgorithmTable parse(const std::string& text, const AlgorithmTable& otherwise);

  Algorithm choose(std::uint64_t bytes) const;
  std::string text() const;
  // Overrides what the table says of sizes from `from` to below `to`, in bytes.
  void set(Algorithm algorithm, std::uint64_t from, std::uint64_t to);

 private:
  struct Range {
    Algorithm algorithm;
    std::uint64_t from, to;
  };
  std::vector<Range> ranges_;  // the first that holds a size counts
};

constexpr std::uint64_t kAnySize = UINT64_MAX;

}  // namespace dtl::ring
