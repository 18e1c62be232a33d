#pragma once
// What an optimizer keeps of each tensor from step to step, and where it lies in the arrays m and v
// of TrainingState: the one source of their sizes and of the names in optimizer.safetensors. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/parameters.h"
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
  std::int64_t m_size = 0, v_size = 0;  // elements, gaps included
};

// AdamW and lion keep exp_avg in m, sgd with a momentum momentum_buffer; AdamW keeps exp_avg_sq in
// v. These lie as the parameters do. Adafactor has in v, one behind the other, exp_avg_sq_row and
// exp_avg_sq_col of matrices, whose means over columns and rows they are, and exp_avg_sq of
// vectors.
OptimizerState optimizer_state(const ParameterLayout& layout, const OptimizerSettings& settings);

// All kept numbers are 0.
TrainingState state_at_start(std::vector<float> parameters, const OptimizerState& kept);

}  // namespace dtl::trainer
