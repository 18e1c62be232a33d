#pragma once
// A model with random weights, for programs that time training steps.

#include <vector>

#include "trainer/layers/parameters.h"

namespace dtl::bench {

// Parameters of layout, all from the seed 1 with a deviation of 0.02.
inline std::vector<float> random_weights(const trainer::ParameterLayout& layout) {
  std::vector<float> parameters(static_cast<std::size_t>(layout.total));
  for (const trainer::ParameterInfo& tensor : layout.tensors) {
    trainer::initialise(tensor, 0.02, 1, parameters.data());
  }
  return parameters;
}

}  // namespace dtl::bench
