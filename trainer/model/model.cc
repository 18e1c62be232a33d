// Arena order during a batch: embeddings, dlayer_, layer 0 .. L-1, head. Backward releases layers
// from the top, so its scratch reuses the memory of finished layers.
#include "trainer/model/model.h"

#include <algorithm>
#include <cassert>
#include <utility>

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
  return {config_, batch, training_ ? &dropout_ : nullptr, pool_, arena_, precision_};
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
// only one layer's memory.
template <class S>
const S* Model<S>::run(const Pass& pass, const S* parameters, bool keep_layers) {
  arena_.reset();
  const S* x = embed(pass, parameters);
  layers_.clear();
  layer_marks_.clear();
  // Below the layers, because it must outlive each of them. It has T rows, although the last layer
  // may have fewer: layer_backward extends the rows in place.
  dlayer_ = arena_.take<S>(pass.batch.tokens() * config_.hidden_size);
  choice_ = chosen_rows(config_, pass.batch);
  for (int i = 0; i < config_.layers; ++i) {
    const std::size_t mark = arena_.mark();
    const bool chooses = choice_ && i + 1 == config_.layers;
    LayerState<S> layer = layer_forward<S>(pass, layout_.layers[static_cast<std::size_t>(i)], i,
                                           chooses ? &*choice_ : nullptr, parameters, x);
    x = layer.output;
    if (keep_layers) {
      layer_marks_.push_back(mark);
      layers_.push_back(std::move(layer));
    } else {
      // Copy the layer's output out of memory that is about to be released.
      std::copy_n(x, layer.rows * config_.hidden_size, dlayer_);
      x = dlayer_;
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
  return {config_, batch, training_ ? &dropout_ : nullptr, pool_, arena_, precision_};
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
  assert(!layers_.empty());
  std::copy(dhead, dhead + layers_.back().rows * config_.hidden_size, dlayer_);
  // The head is the last block; its gradients are complete. Layers report tensor by tensor.
  done(layout_.blocks.back().begin);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layer_backward<S>(pass, layout_.layers[i], layers_[i], parameters, dlayer_, gradients, done);
    arena_.release(layer_marks_[i]);
  }
  embed_backward(pass, parameters, dlayer_, gradients);
  done(0);
}

// x = dropout(norm(word + position + type)), [T, H]. Sums the rows in embedding_normed_, in place;
// the norm then turns them into what its backward needs. DistilBERT has no types.
template <class S>
const S* Model<S>::embed(const Pass& pass, const S* parameters) {
  const std::int64_t H = config_.hidden_size, T = pass.batch.tokens();
  embedding_normed_ = arena_.take<S>(T * H);
  embedding_rstd_ = arena_.take<S>(T);
  S* output = arena_.take<S>(T * H);
  const Dropout dropout(config_.hidden_dropout);
  embedding_mask_ = hidden_mask(pass, config_.hidden_dropout, kEmbeddingSite, pass.batch.starts);
  for_rows(pool_, T, H, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t t = first; t < first + count; ++t) {
      const auto i = static_cast<std::size_t>(t);
      S* row = embedding_normed_ + t * H;
      const S* word = parameters + layout_.word + pass.batch.ids[i] * H;
      std::copy(word, word + H, row);
      kernels<S>().add(H, parameters + layout_.position + pass.batch.positions[i] * H, row);
      if (layout_.type >= 0) {
        kernels<S>().add(H, parameters + layout_.type + pass.batch.types[i] * H, row);
      }
    }
    const std::int64_t at = first * H;
    // No bias, no dropout before the norm, no residual branch.
    const NormInput<S> input{nullptr,
                             nullptr,
                             S(1),
                             nullptr,
                             parameters + layout_.embedding_norm_weight,
                             parameters + layout_.embedding_norm_bias,
                             static_cast<S>(config_.layer_norm_eps)};
    kernels<S>().norm(count, H, input, embedding_normed_ + at, output + at,
                      embedding_rstd_ + first);
    if (embedding_mask_) {
      kernels<S>().apply_mask(count * H, embedding_mask_ + at, static_cast<S>(dropout.scale()),
                              output + at, output + at);
    }
  });
  return output;
}

// Computes gradients of embedding rows on the calling thread, token by token: tokens may share a
// row, and the order of its sum must not depend on the number of threads.
template <class S>
void Model<S>::embed_backward(const Pass& pass, const S* parameters, const S* doutput,
                              S* gradients) {
  const std::int64_t H = config_.hidden_size, T = pass.batch.tokens();
  const S scale = static_cast<S>(Dropout(config_.hidden_dropout).scale());
  S* d = arena_.take<S>(T * H);
  S* sums = arena_.take<S>(3 * H);
  // The last third would be for a dense bias, which embeddings do not have: ignore it.
  std::fill(sums, sums + 3 * H, S(0));
  sum_over_rows<S>(pass, T, 3 * H, sums, [&](std::int64_t first, std::int64_t count, S* partial) {
    const std::int64_t at = first * H;
    const S* dy = doutput + at;
    if (embedding_mask_) {
      kernels<S>().apply_mask(count * H, embedding_mask_ + at, scale, dy, d + at);
      dy = d + at;
    }
    const NormOutput<S> normed{dy,
                               embedding_normed_ + at,
                               embedding_rstd_ + first,
                               parameters + layout_.embedding_norm_weight,
                               nullptr,
                               S(1)};
    kernels<S>().norm_backward(count, H, normed, d + at, d + at, partial);
  });
  kernels<S>().add(H, sums, gradients + layout_.embedding_norm_weight);
  kernels<S>().add(H, sums + H, gradients + layout_.embedding_norm_bias);
  for (std::int64_t t = 0; t < T; ++t) {
    const auto i = static_cast<std::size_t>(t);
    const S* row = d + t * H;
    if (pass.batch.ids[i] != config_.pad_token_id) {  // as nn.Embedding(padding_idx=...)
      kernels<S>().add(H, row, gradients + layout_.word + pass.batch.ids[i] * H);
    }
    kernels<S>().add(H, row, gradients + layout_.position + pass.batch.positions[i] * H);
    if (layout_.type >= 0) {
      kernels<S>().add(H, row, gradients + layout_.type + pass.batch.types[i] * H);
    }
  }
}

template class Model<float>;
template class Model<double>;

}  // namespace dtl::trainer
