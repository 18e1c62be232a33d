#pragma once
// TrainingState: everything that a training run carries from one step to the next. Dropout and the
// order of examples follow from seed and step. A plain value; the arrays are equal on all ranks.

#include <cstdint>
#include <vector>

namespace dtl::trainer {

struct TrainingState {
  std::int64_t step = 0;              // steps done
  std::vector<float> parameters;      // [layout.total]
  std::vector<float> m = {}, v = {};  // kept by the optimizer: see optimizer_state.h
};

// Cost and progress of all steps so far, over all runs that made them.
struct TrainingCost {
  double seconds = 0, loss_sum = 0;
};

}  // namespace dtl::trainer
