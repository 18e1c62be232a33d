#pragma once
// TrainingState: all that a training run carries from one step to the next. Dropout and the order
// of examples follow from seed and step, so there is nothing else. A plain value; the arrays are of
// ParameterLayout, and equal on all ranks.

#include <cstdint>
#include <utility>
#include <vector>

namespace dtl::trainer {

struct TrainingState {
  std::int64_t step = 0;              // steps done
  std::vector<float> parameters;      // [layout.total]
  std::vector<float> m = {}, v = {};  // AdamW's moments of the gradient, [layout.total]
};

inline TrainingState state_at_start(std::vector<float> parameters) {
  const std::size_t count = parameters.size();
  return {0, std::move(parameters), std::vector<float>(count), std::vector<float>(count)};
}

}  // namespace dtl::trainer
