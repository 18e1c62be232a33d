#pragma once
// What an optimizer keeps for each tensor, and its place in the arrays m and v of TrainingState.
// The array sizes and the names in optimizer.safetensors come from here. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/layers/parameters.h"
#include "trainer/step/optimizer.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

struct KeptTensor {
  std::string name;  // "exp_avg.classifier.bias"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0, count = 0;
};

struct OptimizerState {
  std::vector<KeptTensor> m, v;
  std::int64_t m_size = 0, v_size = 0;  // elements, including gaps
};

// Frozen parameters have none. AdamW and lion keep exp_avg in m, sgd with momentum keeps
// momentum_buffer there; AdamW keeps exp_avg_sq in v. These use the layout of the trained
// parameters. Adafactor stores in v, one after the other: for a matrix exp_avg_sq_row and
// exp_avg_sq_col (means over columns and rows), for a vector exp_avg_sq.
OptimizerState optimizer_state(const ParameterLayout& layout, const OptimizerSettings& settings);

// A state whose optimizer values are all 0.
TrainingState state_at_start(std::vector<float> parameters, const OptimizerState& kept);

}  // namespace dtl::trainer
