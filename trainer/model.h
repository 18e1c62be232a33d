#pragma once
// Model: an encoder with a sequence-classification head, forward and backward on one batch.
// Parameters and gradients are flat arrays of ParameterLayout. float runs, double checks gradients.
// One thread calls; the pool does the work. No failures of its own.

#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/layer.h"

namespace dtl::trainer {

template <class S>
class Model {
 public:
  Model(const ModelConfig& config, ThreadPool& pool);

  const ParameterLayout& layout() const { return layout_; }
  const ModelConfig& config() const { return config_; }

  // Logits [B, C], valid until the next call. dropout null: evaluation.
  const S* forward(const S* parameters, const Batch& batch, const DropoutKey* dropout);

  // After forward on the same batch: the sum of the cross entropies, and the gradient of that sum
  // times `weight` added to `gradients`. block_done(i) is called as soon as block i of the layout
  // will not change any more, from the last block to the first.
  double backward(const S* parameters, const Batch& batch, S weight, S* gradients,
                  const std::function<void(std::size_t)>& block_done);

 private:
  const S* embed(const Pass& pass, const S* parameters);
  void embed_backward(const Pass& pass, const S* parameters, const S* doutput, S* gradients);
  void head_forward(const Pass& pass, const S* parameters);
  const S* head_backward(const Pass& pass, const S* parameters, S* gradients);
  double loss_gradient(const Batch& batch, S weight);
  std::int64_t classes() const { return static_cast<std::int64_t>(config_.labels.size()); }

  ModelConfig config_;
  ParameterLayout layout_;
  ThreadPool& pool_;
  Arena arena_;
  DropoutKey dropout_;
  bool training_ = false;

  // Of the last forward.
  S *embedding_normed_ = nullptr, *embedding_rstd_ = nullptr;  // [T, H], [T]
  std::uint8_t* embedding_mask_ = nullptr;                     // [T, H]
  std::vector<LayerState<S>> layers_;
  S* pooled_ = nullptr;                  // [B, H] after tanh or relu
  S* pooled_dropped_ = nullptr;          // [B, H]
  std::uint8_t* pooled_mask_ = nullptr;  // [B, H]
  S* logits_ = nullptr;                  // [B, C]
  S* dlogits_ = nullptr;                 // [B, C]
};

}  // namespace dtl::trainer
