#pragma once
// Model: an encoder with the head of its task, forward and backward on one batch.
// Parameters and gradients are flat arrays of ParameterLayout. float runs, double checks gradients.
// One thread calls; the pool does the work. No failures of its own: the batch's ids, types and
// positions must be rows of the embeddings, and it must carry what the model's problem learns from.

#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/model/head.h"
#include "trainer/model/layer.h"
#include "trainer/model/loss.h"

namespace dtl::trainer {

template <class S>
class Model {
 public:
  Model(const ModelConfig& config, ThreadPool& pool, const LossSettings& loss = {});

  const ParameterLayout& layout() const { return layout_; }
  const ModelConfig& config() const { return config_; }
  // Of the layers' products from the next forward on. The head's stay float: they cost nothing.
  void set_precision(Precision precision) { precision_ = precision; }

  // Outputs, valid until the next call: [B, C] of a classifier; [T, 2], start and end of every
  // token (padding, too), of a model that finds answers. dropout null: nothing is dropped.
  const S* forward(const S* parameters, const Batch& batch, const DropoutKey* dropout);

  // The same bits as forward without dropout, in the memory of one layer; no backward can follow.
  const S* forward_only(const S* parameters, const Batch& batch);

  // After forward on the same batch: the sum of its examples' losses, and the gradient of that sum
  // times `weight` added to `gradients`. done is called as soon as further gradients are
  // complete: of the head, of each layer tensor by tensor, of the embeddings (with offset 0).
  double backward(const S* parameters, const Batch& batch, S weight, S* gradients,
                  const GradientsDone& done);

 private:
  Pass start(const Batch& batch, const DropoutKey* dropout);
  const S* run(const Pass& pass, const S* parameters, bool keep_layers);
  const S* embed(const Pass& pass, const S* parameters);
  void embed_backward(const Pass& pass, const S* parameters, const S* doutput, S* gradients);

  ModelConfig config_;
  ParameterLayout layout_;
  ThreadPool& pool_;
  LossSettings loss_;
  Precision precision_ = Precision::kFloat32;
  Arena arena_;
  DropoutKey dropout_;
  bool training_ = false;

  // Of the last forward.
  S *embedding_normed_ = nullptr, *embedding_rstd_ = nullptr;  // [T, H], [T]
  std::uint8_t* embedding_mask_ = nullptr;                     // [T, H]
  // [T, H], below the layers' memory: the gradient between layers; in forward_only their input.
  S* dlayer_ = nullptr;
  std::vector<std::size_t> layer_marks_;  // of the arena, where each layer's memory begins
  std::vector<LayerState<S>> layers_;
  HeadState<S> head_;
};

}  // namespace dtl::trainer
