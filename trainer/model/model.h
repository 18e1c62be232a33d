#pragma once
// Model: an encoder with its task's head, forward and backward on one batch. Parameters and
// gradients are flat arrays of ParameterLayout. Training uses float; tests check gradients in
// double. One thread calls; the pool does the work. The batch's ids, types and positions must be
// valid rows of the embeddings, and it must have labels or targets for the model's problem.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "trainer/layers/input_layer.h"
#include "trainer/layers/layer.h"
#include "trainer/model/head.h"
#include "trainer/model/loss.h"
#include "trainer/model/masked_head.h"

namespace dtl::trainer {

template <class S>
class Model {
 public:
  Model(const ModelConfig& config, ThreadPool& pool, const LossSettings& loss = {});

  const ParameterLayout& layout() const { return layout_; }
  const ModelConfig& config() const { return config_; }
  const LossSettings& loss() const { return loss_; }
  // For the layers' products from the next forward on. The head stays in float32.
  void set_precision(Precision precision) { precision_ = precision; }

  // From the next forward on, backward gives no gradients for the embeddings and the first `layers`
  // layers, and computes nothing for them. 0: everything has gradients.
  void freeze(int layers) { frozen_ = layers; }
  int frozen() const { return frozen_; }

  // Outputs, valid until the next call: [B, O] or, if the head gives rows of tokens, [T, O], also
  // for padding. dropout null: no dropout. A masked language model: the logits [M, V] of the masked
  // tokens; forward_only gives the outputs of masked_losses() instead.
  const S* forward(const S* parameters, const Batch& batch, const DropoutKey* dropout);

  // Same bits as forward, with one layer's memory. backward cannot follow.
  const S* forward_only(const S* parameters, const Batch& batch,
                        const DropoutKey* dropout = nullptr);

  // Call after forward on the same batch. Returns the sum of its examples' losses and adds the
  // gradient of that sum times `weight` to `gradients`. Calls done whenever more gradients are
  // complete: for the head, for each layer tensor by tensor, for the embeddings (offset 0).
  double backward(const S* parameters, const Batch& batch, S weight, S* gradients,
                  const GradientsDone& done);
  // The same from a given gradient at the outputs, for a loss that is not of this batch alone.
  void backward_from(const S* doutputs, const S* parameters, const Batch& batch, S* gradients,
                     const GradientsDone& done);

 private:
  Pass start(const Batch& batch, const DropoutKey* dropout);
  Pass pass_again(const Batch& batch);  // of the last forward
  void backward_from_head(const Pass& pass, const S* parameters, const S* dhead, S* gradients,
                          const GradientsDone& done);
  const S* run(const Pass& pass, const S* parameters, bool keep_layers);

  ModelConfig config_;
  ParameterLayout layout_;
  ThreadPool& pool_;
  LossSettings loss_;
  Precision precision_ = Precision::kFloat32;
  int frozen_ = 0;
  RotaryTables rotary_;  // of the longest text so far; families with rotary positions only
  Arena arena_;
  DropoutKey dropout_;
  bool training_ = false;

  // From the last forward.
  InputState<S> input_;
  // [T, H], below the layers' memory: the gradient between layers, or their input in forward_only.
  S* dlayer_ = nullptr;
  S* frozen_output_ = nullptr;            // [T, H], of the last frozen layer
  std::optional<RowChoice> choice_;       // of the last layer
  std::vector<std::size_t> layer_marks_;  // of the arena, at the beginning of each layer
  std::vector<LayerState<S>> layers_;     // without those that are frozen
  HeadState<S> head_;
  MaskedHeadState<S> masked_head_;
};

}  // namespace dtl::trainer
