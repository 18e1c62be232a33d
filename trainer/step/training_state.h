#pragma once
// TrainingState: all that a training run carries from one step to the next. Dropout and the order
// of examples follow from seed and step, so there is nothing else. A plain value; the arrays are
// equal on all ranks.

#include <cstdint>
#include <vector>

namespace dtl::trainer {

struct TrainingState {
  std::int64_t step = 0;              // steps done
  std::vector<float> parameters;      // [layout.total]
  std::vector<float> m = {}, v = {};  // what the optimizer keeps: see optimizer_state.h
};

// What the steps so far have cost and given, in all the runs that did them.
struct TrainingCost {
  double seconds = 0, loss_sum = 0;
};

}  // namespace dtl::trainer
