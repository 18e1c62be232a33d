#pragma once
// StepShare: a step's examples, and the micro-batches of them that this rank works on. A plain
// value; every rank knows the shares of all.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/layers/batch.h"

namespace dtl::trainer {

struct StepShare {
  const Examples& examples;
  std::span<const std::int64_t> chosen;            // by all ranks, in the step's order
  std::vector<std::vector<std::int64_t>> of_rank;  // each in the order of `chosen`
  int rank = 0;
  int micro_batches = 1;  // the same for all ranks; a rank's may be empty
  Padding padding = {};

  const std::vector<std::int64_t>& mine() const { return of_rank[static_cast<std::size_t>(rank)]; }
  // The m-th of this rank's micro-batches, which are nearly equal parts of its share.
  std::span<const std::int64_t> part(int m) const;
  Batch batch(int m) const { return make_batch(examples, part(m), padding); }
};

}  // namespace dtl::trainer
