#include "trainer/model.h"

#include <cmath>

#include "trainer/gemm.h"

namespace dtl::trainer {
namespace {

std::vector<std::int64_t> one_row_each(std::int64_t sequences) {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(sequences) + 1);
  for (std::size_t s = 0; s < starts.size(); ++s) starts[s] = static_cast<std::int64_t>(s);
  return starts;
}

}  // namespace

template <class S>
Model<S>::Model(const ModelConfig& config, ThreadPool& pool)
    : config_(config), layout_(layout_parameters(config)), pool_(pool) {}

template <class S>
const S* Model<S>::forward(const S* parameters, const Batch& batch, const DropoutKey* dropout) {
  arena_.reset();
  training_ = dropout != nullptr;
  if (dropout) dropout_ = *dropout;
  const Pass pass{config_, batch, training_ ? &dropout_ : nullptr, pool_, arena_};
  const S* x = embed(pass, parameters);
  layers_.clear();
  for (int i = 0; i < config_.layers; ++i) {
    layers_.push_back(layer_forward<S>(pass, layout_.layers[static_cast<std::size_t>(i)], i,
                                       i + 1 == config_.layers, parameters, x));
    x = layers_.back().output;
  }
  head_forward(pass, parameters);
  return logits_;
}

template <class S>
double Model<S>::backward(const S* parameters, const Batch& batch, S weight, S* gradients,
                          const std::function<void(std::size_t)>& block_done) {
  const Pass pass{config_, batch, training_ ? &dropout_ : nullptr, pool_, arena_};
  const double loss = loss_gradient(batch, weight);
  const S* d = head_backward(pass, parameters, gradients);
  block_done(layout_.blocks.size() - 1);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    d = layer_backward<S>(pass, layout_.layers[i], layers_[i], parameters, d, gradients);
    block_done(i + 1);
  }
  embed_backward(pass, parameters, d, gradients);
  block_done(0);
  return loss;
}

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
    kernels<S>().norm(count, H, embedding_normed_ + at, nullptr, nullptr, S(1), nullptr,
                      parameters + layout_.embedding_norm_weight,
                      parameters + layout_.embedding_norm_bias,
                      static_cast<S>(config_.layer_norm_eps), output + at, embedding_rstd_ + first);
    if (embedding_mask_) {
      kernels<S>().apply_mask(count * H, embedding_mask_ + at, static_cast<S>(dropout.scale()),
                              output + at, output + at);
    }
  });
  return output;
}

template <class S>
void Model<S>::embed_backward(const Pass& pass, const S* parameters, const S* doutput,
                              S* gradients) {
  const std::int64_t H = config_.hidden_size, T = pass.batch.tokens();
  const S scale = static_cast<S>(Dropout(config_.hidden_dropout).scale());
  S* d = arena_.take<S>(T * H);
  S* sums = arena_.take<S>(3 * H);
  std::fill(sums, sums + 3 * H, S(0));
  sum_over_rows<S>(pass, T, 3 * H, sums, [&](std::int64_t first, std::int64_t count, S* partial) {
    const std::int64_t at = first * H;
    const S* dy = doutput + at;
    if (embedding_mask_) {
      kernels<S>().apply_mask(count * H, embedding_mask_ + at, scale, dy, d + at);
      dy = d + at;
    }
    kernels<S>().norm_backward(count, H, dy, embedding_normed_ + at, embedding_rstd_ + first,
                               parameters + layout_.embedding_norm_weight, nullptr, S(1), d + at,
                               d + at, partial);
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

// BERT: tanh(pool(first)); DistilBERT: relu(pre_classifier(first)); then dropout and classifier.
template <class S>
void Model<S>::head_forward(const Pass& pass, const S* parameters) {
  const std::int64_t H = config_.hidden_size, B = pass.batch.sequences(), C = classes();
  const S* first = layers_.back().output;  // [B, H]: the last layer computes only these rows
  pooled_ = arena_.take<S>(B * H);
  logits_ = arena_.take<S>(B * C);
  gemm<S>(B, H, H, S(1), {first, H}, {parameters + layout_.pool_weight, H, Op::kTranspose}, S(0),
          pooled_, H);
  kernels<S>().add_bias(B, H, pooled_, parameters + layout_.pool_bias);
  for (std::int64_t i = 0; i < B * H; ++i) {
    pooled_[i] =
        config_.type == ModelType::kBert ? std::tanh(pooled_[i]) : std::max(pooled_[i], S(0));
  }
  pooled_mask_ = hidden_mask(pass, config_.classifier_dropout, kClassifierSite, one_row_each(B));
  pooled_dropped_ = pooled_;
  if (pooled_mask_) {
    pooled_dropped_ = arena_.take<S>(B * H);
    const S scale = static_cast<S>(Dropout(config_.classifier_dropout).scale());
    kernels<S>().apply_mask(B * H, pooled_mask_, scale, pooled_, pooled_dropped_);
  }
  gemm<S>(B, C, H, S(1), {pooled_dropped_, H},
          {parameters + layout_.class_weight, H, Op::kTranspose}, S(0), logits_, C);
  kernels<S>().add_bias(B, C, logits_, parameters + layout_.class_bias);
}

template <class S>
const S* Model<S>::head_backward(const Pass& pass, const S* parameters, S* gradients) {
  const std::int64_t H = config_.hidden_size, B = pass.batch.sequences(), C = classes();
  gemm<S>(C, H, B, S(1), {dlogits_, C, Op::kTranspose}, {pooled_dropped_, H}, S(1),
          gradients + layout_.class_weight, H);
  kernels<S>().column_sums(B, C, dlogits_, gradients + layout_.class_bias);
  S* d = arena_.take<S>(B * H);
  gemm<S>(B, H, C, S(1), {dlogits_, C}, {parameters + layout_.class_weight, H}, S(0), d, H);
  if (pooled_mask_) {
    const S scale = static_cast<S>(Dropout(config_.classifier_dropout).scale());
    kernels<S>().apply_mask(B * H, pooled_mask_, scale, d, d);
  }
  for (std::int64_t i = 0; i < B * H; ++i) {
    const S a = pooled_[i];
    const S slope = config_.type == ModelType::kBert ? S(1) - a * a : (a > S(0) ? S(1) : S(0));
    d[i] *= slope;
  }
  const S* first = layers_.back().output;
  gemm<S>(H, H, B, S(1), {d, H, Op::kTranspose}, {first, H}, S(1), gradients + layout_.pool_weight,
          H);
  kernels<S>().column_sums(B, H, d, gradients + layout_.pool_bias);
  S* dfirst = arena_.take<S>(B * H);
  gemm<S>(B, H, H, S(1), {d, H}, {parameters + layout_.pool_weight, H}, S(0), dfirst, H);
  return dfirst;
}

// Cross entropy of each sequence: log(sum(exp(logits))) - logits[label].
template <class S>
double Model<S>::loss_gradient(const Batch& batch, S weight) {
  const std::int64_t B = batch.sequences(), C = classes();
  dlogits_ = arena_.take<S>(B * C);
  double loss = 0;
  for (std::int64_t b = 0; b < B; ++b) {
    const S* row = logits_ + b * C;
    const std::int64_t label = batch.labels[static_cast<std::size_t>(b)];
    const S highest = *std::max_element(row, row + C);
    double sum = 0;
    for (std::int64_t c = 0; c < C; ++c) sum += std::exp(static_cast<double>(row[c] - highest));
    loss += std::log(sum) - static_cast<double>(row[label] - highest);
    for (std::int64_t c = 0; c < C; ++c) {
      const double p = std::exp(static_cast<double>(row[c] - highest)) / sum;
      dlogits_[b * C + c] = static_cast<S>(p - (c == label ? 1.0 : 0.0)) * weight;
    }
  }
  return loss;
}

template class Model<float>;
template class Model<double>;

}  // namespace dtl::trainer
