// Arena order during a batch: embeddings, dlayer_, layer 0 .. L-1, head. Backward releases layers
// from the top, so its scratch reuses the memory of finished layers.
#include "trainer/model/model.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/maths/plain_nan.h"

namespace dtl::trainer {
namespace {

// The rows that the head reads; nothing if it reads all.
std::optional<RowChoice> chosen_rows(const ModelConfig& config, const Batch& batch) {
  if (reads_all_tokens(config)) return std::nullopt;
  RowChoice choice;
  if (config.task == Task::kMaskedLm) {
    choice.tokens = batch.masked;
    for (const std::int64_t start : batch.starts) {
      const auto before = std::lower_bound(batch.masked.begin(), batch.masked.end(), start);
      choice.starts.push_back(before - batch.masked.begin());
    }
    return choice;
  }
  choice.tokens.assign(batch.starts.begin(), batch.starts.end() - 1);  // each first token
  for (std::size_t s = 0; s < batch.starts.size(); ++s) {
    choice.starts.push_back(static_cast<std::int64_t>(s));
  }
  return choice;
}

}  // namespace

template <class S>
Model<S>::Model(const ModelConfig& config, ThreadPool& pool, const LossSettings& loss)
    : config_(config), layout_(layout_parameters(config)), pool_(pool), loss_(loss) {}

template <class S>
Pass Model<S>::start(const Batch& batch, const DropoutKey* dropout) {
  training_ = dropout != nullptr;
  if (dropout) dropout_ = *dropout;
  if (is_pre_norm(config_)) {
    for (std::int64_t s = 0; s < batch.sequences(); ++s) rotary_.extend(config_, batch.length(s));
  }
  return pass_again(batch);
}

template <class S>
const S* Model<S>::forward(const S* parameters, const Batch& batch, const DropoutKey* dropout) {
  return run(start(batch, dropout), parameters, /*keep_layers=*/true);
}

template <class S>
const S* Model<S>::forward_only(const S* parameters, const Batch& batch,
                                const DropoutKey* dropout) {
  return run(start(batch, dropout), parameters, /*keep_layers=*/false);
}

// keep_layers false: releases each layer's memory before the next layer, so an evaluation needs
// only one layer's memory. So does what is frozen.
template <class S>
const S* Model<S>::run(const Pass& pass, const S* parameters, bool keep_layers) {
  arena_.reset();
  input_ = input_forward<S>(pass, layout_, parameters);
  const S* x = input_.output;
  layers_.clear();
  layer_marks_.clear();
  // Below the layers, because it must outlive each of them. It has T rows, although the last layer
  // may have fewer: layer_backward extends the rows in place.
  dlayer_ = arena_.take<S>(pass.batch.tokens() * config_.hidden_size);
  const int frozen = keep_layers ? frozen_ : config_.layers;
  frozen_output_ = keep_layers && frozen_ > 0
                       ? arena_.take<S>(pass.batch.tokens() * config_.hidden_size)
                       : dlayer_;
  choice_ = chosen_rows(config_, pass.batch);
  for (int i = 0; i < config_.layers; ++i) {
    const std::size_t mark = arena_.mark();
    const bool chooses = choice_ && i + 1 == config_.layers;
    LayerState<S> layer = layer_forward<S>(pass, layout_.layers[static_cast<std::size_t>(i)], i,
                                           chooses ? &*choice_ : nullptr, parameters, x);
    x = layer.output;
    if (i >= frozen) {
      layer_marks_.push_back(mark);
      layers_.push_back(std::move(layer));
    } else {
      // Copy the layer's output out of memory that is about to be released.
      std::copy_n(x, layer.rows * config_.hidden_size, frozen_output_);
      x = frozen_output_;
      arena_.release(mark);
    }
  }
  if (config_.task != Task::kMaskedLm) {
    head_ = head_forward<S>(pass, layout_, parameters, x);
    return head_.outputs;
  }
  masked_head_ = masked_head_forward<S>(pass, layout_, parameters, x);
  if (keep_layers) return masked_head_.logits;
  S* outputs = arena_.take<S>(2 * pass.batch.tokens());
  masked_losses(pass, masked_head_, outputs);
  return outputs;
}

template <class S>
double Model<S>::backward(const S* parameters, const Batch& batch, S weight, S* gradients,
                          const GradientsDone& done) {
  if (config_.task == Task::kMaskedLm) {
    const Pass pass = pass_again(batch);
    const double loss = masked_losses<S>(pass, masked_head_, nullptr);
    backward_from_head(
        pass, parameters,
        masked_head_backward(pass, layout_, masked_head_, parameters, weight, gradients), gradients,
        done);
    return plain_nan(loss);
  }
  S* doutputs = arena_.take<S>(head_.rows * output_count(config_));
  const double loss = loss_sum<S>(config_, loss_, batch, head_.outputs, weight, doutputs);
  backward_from(doutputs, parameters, batch, gradients, done);
  return loss;
}

template <class S>
Pass Model<S>::pass_again(const Batch& batch) {
  return {config_, batch, training_ ? &dropout_ : nullptr, pool_, arena_, precision_, &rotary_};
}

template <class S>
void Model<S>::backward_from(const S* doutputs, const S* parameters, const Batch& batch,
                             S* gradients, const GradientsDone& done) {
  const Pass pass = pass_again(batch);
  backward_from_head(pass, parameters,
                     head_backward<S>(pass, layout_, head_, parameters, doutputs, gradients),
                     gradients, done);
}

// From the head down, with dhead the gradient at its input. dlayer_ holds the gradient between two
// layers, updated in place.
template <class S>
void Model<S>::backward_from_head(const Pass& pass, const S* parameters, const S* dhead,
                                  S* gradients, const GradientsDone& done) {
  assert(!layers_.empty() || frozen_ > 0);
  if (!layers_.empty()) {
    std::copy(dhead, dhead + layers_.back().rows * config_.hidden_size, dlayer_);
  }
  // The head is the last block; its gradients are complete. Layers report tensor by tensor.
  done(layout_.blocks.back().begin);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const LayerOffsets& at = layout_.layers[static_cast<std::size_t>(frozen_) + i];
    layer_backward<S>(pass, at, layers_[i], parameters, dlayer_, gradients, done);
    arena_.release(layer_marks_[i]);
  }
  if (frozen_ == 0) input_backward<S>(pass, layout_, input_, parameters, dlayer_, gradients);
  done(0);
}

template class Model<float>;
template class Model<double>;

}  // namespace dtl::trainer
