// Names and shapes are torch's, so that people recognise the tensors of optimizer.safetensors.
// Adafactor's constructor must place its tensors in v in the same order.
#include "trainer/step/optimizer_state.h"

#include <utility>

namespace dtl::trainer {
namespace {

// m and v keep the parameters' gaps, so one offset, less that of the first trained parameter, works
// for all three arrays.
std::vector<KeptTensor> like_parameters(const ParameterLayout& layout, std::int64_t first,
                                        const std::string& prefix) {
  std::vector<KeptTensor> kept;
  for (const ParameterInfo& tensor : layout.tensors) {
    if (tensor.offset < first) continue;
    kept.push_back({prefix + tensor.name, tensor.shape, tensor.offset - first, tensor.count});
  }
  return kept;
}

// Without gaps: only Adafactor's own code reads these.
void keep_behind(OptimizerState& state, std::string name, std::int64_t count) {
  state.v.push_back({std::move(name), {count}, state.v_size, count});
  state.v_size += count;
}

OptimizerState adafactor_state(const ParameterLayout& layout, std::int64_t first) {
  OptimizerState state;
  for (const ParameterInfo& tensor : layout.tensors) {
    if (tensor.offset < first) continue;
    if (tensor.shape.size() == 2) {
      keep_behind(state, "exp_avg_sq_row." + tensor.name, tensor.shape[0]);
      keep_behind(state, "exp_avg_sq_col." + tensor.name, tensor.shape[1]);
    } else {
      keep_behind(state, "exp_avg_sq." + tensor.name, tensor.count);
    }
  }
  return state;
}

}  // namespace

OptimizerState optimizer_state(const ParameterLayout& layout, const OptimizerSettings& settings) {
  OptimizerState state;
  const std::int64_t first = trained_begin(layout, settings.frozen_layers);
  const std::int64_t size = layout.total - first;
  switch (settings.kind) {
    case OptimizerKind::kAdamTorch:
    case OptimizerKind::kAdamHuggingFace:
      state.v = like_parameters(layout, first, "exp_avg_sq.");
      state.v_size = size;
      [[fallthrough]];
    case OptimizerKind::kLion:
      state.m = like_parameters(layout, first, "exp_avg.");
      state.m_size = size;
      return state;
    case OptimizerKind::kSgd:
      // torch.optim.SGD keeps no buffer either if the momentum is 0.
      if (settings.momentum > 0) {
        state.m = like_parameters(layout, first, "momentum_buffer.");
        state.m_size = size;
      }
      return state;
    case OptimizerKind::kAdafactor:
      return adafactor_state(layout, first);
  }
  __builtin_unreachable();
}

TrainingState state_at_start(std::vector<float> parameters, const OptimizerState& kept) {
  return {0, std::move(parameters), std::vector<float>(static_cast<std::size_t>(kept.m_size)),
          std::vector<float>(static_cast<std::size_t>(kept.v_size))};
}

}  // namespace dtl::trainer
