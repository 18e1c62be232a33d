// Pooling reads every token once; all else is one row per text, a thousandth of the arithmetic.
#include "trainer/model/embedding_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trainer/families/task_head.h"
#include "trainer/layers/affine.h"
#include "trainer/model/unit_rows.h"

namespace dtl::trainer {
namespace {

// Calls task(text) for each, on the pool's threads.
template <class Task>
void for_texts(const Pass& pass, const Task& task) {
  const std::int64_t texts = pass.batch.sequences();
  pass.pool.run(texts, 2 * pass.batch.tokens() * pass.config.hidden_size,
                [&](std::int64_t text, int) { task(text); });
}

// The weight of token i of n, for the poolings that are sums.
double token_weight(TextPooling pooling, std::int64_t i, std::int64_t n) {
  const auto count = static_cast<double>(n);
  switch (pooling) {
    case TextPooling::kMean:
      return 1 / count;
    case TextPooling::kMeanSqrtLength:
      return 1 / std::sqrt(count);
    case TextPooling::kWeightedMean:
      return static_cast<double>(i + 1) / (count * (count + 1) / 2);
    case TextPooling::kLastToken:
      return i + 1 == n ? 1 : 0;
    case TextPooling::kCls:
      return i == 0 ? 1 : 0;
    case TextPooling::kMax:
      break;  // not a sum
  }
  __builtin_unreachable();
}

// The largest of each column of tokens [n, H], the first if several are.
template <class S>
void pool_highest(std::int64_t n, std::int64_t H, const S* tokens, S* row, std::int32_t* highest) {
  std::copy_n(tokens, H, row);
  std::fill_n(highest, H, 0);
  for (std::int64_t i = 1; i < n; ++i) {
    for (std::int64_t h = 0; h < H; ++h) {
      if (tokens[i * H + h] <= row[h]) continue;
      row[h] = tokens[i * H + h];
      highest[h] = static_cast<std::int32_t>(i);
    }
  }
}

// Returns the pooled rows [B, H].
template <class S>
const S* pool_texts(const Pass& pass, const S* hidden, EmbeddingState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, B = pass.batch.sequences();
  const TextPooling pooling = pass.config.embedding.pooling;
  if (pooling == TextPooling::kCls) return hidden;
  S* pooled = pass.arena.take<S>(B * H);
  if (pooling == TextPooling::kMax) state.highest = pass.arena.take<std::int32_t>(B * H);
  for_texts(pass, [&](std::int64_t b) {
    const std::int64_t n = pass.batch.own_length(b);
    const S* tokens = hidden + pass.batch.starts[static_cast<std::size_t>(b)] * H;
    S* row = pooled + b * H;
    if (pooling == TextPooling::kMax) {
      return pool_highest(n, H, tokens, row, state.highest + b * H);
    }
    std::fill_n(row, H, S(0));
    for (std::int64_t i = 0; i < n; ++i) {
      const auto weight = static_cast<S>(token_weight(pooling, i, n));
      for (std::int64_t h = 0; h < H; ++h) row[h] += weight * tokens[i * H + h];
    }
  });
  return pooled;
}

// d [B, H] -> gradient at the tokens [T, H]; that of padding is 0.
template <class S>
const S* pool_backward(const Pass& pass, const EmbeddingState<S>& state, const S* d) {
  const std::int64_t H = pass.config.hidden_size;
  const TextPooling pooling = pass.config.embedding.pooling;
  if (pooling == TextPooling::kCls) return d;
  S* dtokens = pass.arena.take<S>(pass.batch.tokens() * H);
  for_texts(pass, [&](std::int64_t b) {
    const std::int64_t n = pass.batch.own_length(b);
    S* tokens = dtokens + pass.batch.starts[static_cast<std::size_t>(b)] * H;
    const S* row = d + b * H;
    std::fill_n(tokens, pass.batch.length(b) * H, S(0));
    if (pooling == TextPooling::kMax) {
      for (std::int64_t h = 0; h < H; ++h) tokens[state.highest[b * H + h] * H + h] = row[h];
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const auto weight = static_cast<S>(token_weight(pooling, i, n));
      for (std::int64_t h = 0; h < H; ++h) tokens[i * H + h] = weight * row[h];
    }
  });
  return dtokens;
}

double activate(DenseActivation activation, double x) {
  switch (activation) {
    case DenseActivation::kIdentity:
      return x;
    case DenseActivation::kTanh:
      return std::tanh(x);
    case DenseActivation::kRelu:
      return std::max(x, 0.0);
    case DenseActivation::kGelu:
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case DenseActivation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  __builtin_unreachable();
}

// y = activate(activation, x).
double slope(DenseActivation activation, double x, double y) {
  switch (activation) {
    case DenseActivation::kIdentity:
      return 1;
    case DenseActivation::kTanh:
      return 1 - y * y;
    case DenseActivation::kRelu:
      return x > 0 ? 1 : 0;
    case DenseActivation::kGelu:  // Phi(x) + x phi(x)
      return std::erfc(-x / std::numbers::sqrt2) / 2 +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case DenseActivation::kSigmoid:
      return y * (1 - y);
  }
  __builtin_unreachable();
}

template <class S>
const S* dense_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters,
                       const S* x, EmbeddingState<S>& state) {
  const std::int64_t B = pass.batch.sequences();
  std::int64_t in = pass.config.hidden_size;
  for (std::size_t i = 0; i < layout.dense.size(); ++i) {
    const DenseLayer& layer = pass.config.embedding.dense[i];
    const DenseOffsets& at = layout.dense[i];
    const std::int64_t count = B * layer.outputs;
    S *sums = pass.arena.take<S>(count), *y = pass.arena.take<S>(count);
    affine(pass, B, layer.outputs, in, x, parameters + at.weight,
           at.bias < 0 ? nullptr : parameters + at.bias, sums);
    for (std::int64_t j = 0; j < count; ++j) {
      y[j] = static_cast<S>(activate(layer.activation, static_cast<double>(sums[j])));
    }
    state.dense.push_back({x, sums, y});
    x = y;
    in = layer.outputs;
  }
  return x;
}

template <class S>
const S* dense_backward(const Pass& pass, const ParameterLayout& layout,
                        const EmbeddingState<S>& state, const S* parameters, const S* dy,
                        S* gradients) {
  const std::int64_t B = pass.batch.sequences();
  for (std::size_t i = layout.dense.size(); i-- > 0;) {
    const DenseLayer& layer = pass.config.embedding.dense[i];
    const DenseOffsets& at = layout.dense[i];
    const auto& kept = state.dense[i];
    const std::int64_t count = B * layer.outputs;
    S* dsums = pass.arena.take<S>(count);
    for (std::int64_t j = 0; j < count; ++j) {
      const double factor = slope(layer.activation, static_cast<double>(kept.sums[j]),
                                  static_cast<double>(kept.y[j]));
      dsums[j] = static_cast<S>(static_cast<double>(dy[j]) * factor);
    }
    const std::int64_t in =
        i == 0 ? pass.config.hidden_size : pass.config.embedding.dense[i - 1].outputs;
    dy = affine_backward<S>(pass, B, layer.outputs, in, dsums, kept.input, parameters + at.weight,
                            {gradients + at.weight, at.bias < 0 ? nullptr : gradients + at.bias});
  }
  return dy;
}

// y = x / max(|x|, kLeastLength), by row.
template <class S>
void normalize(const Pass& pass, const S* x, EmbeddingState<S>& state) {
  const std::int64_t D = output_count(pass.config), B = pass.batch.sequences();
  state.lengths = pass.arena.take<double>(B);
  state.outputs = pass.arena.take<S>(B * D);
  for (std::int64_t b = 0; b < B; ++b) {
    double squares = 0;
    for (std::int64_t d = 0; d < D; ++d) {
      const auto value = static_cast<double>(x[b * D + d]);
      squares += value * value;
    }
    state.lengths[b] = std::sqrt(squares);
    const double factor = 1 / std::max(state.lengths[b], kLeastLength);
    for (std::int64_t d = 0; d < D; ++d) {
      state.outputs[b * D + d] = static_cast<S>(static_cast<double>(x[b * D + d]) * factor);
    }
  }
}

// dx = (dy - y (y . dy)) / |x|; for a shorter row, only the division by a constant.
template <class S>
const S* normalize_backward(const Pass& pass, const EmbeddingState<S>& state, const S* dy) {
  const std::int64_t D = output_count(pass.config), B = pass.batch.sequences();
  S* dx = pass.arena.take<S>(B * D);
  for (std::int64_t b = 0; b < B; ++b) {
    const S *y = state.outputs + b * D, *d = dy + b * D;
    double along = 0;
    for (std::int64_t i = 0; i < D; ++i) {
      along += static_cast<double>(y[i]) * static_cast<double>(d[i]);
    }
    if (state.lengths[b] < kLeastLength) along = 0;
    const double factor = 1 / std::max(state.lengths[b], kLeastLength);
    for (std::int64_t i = 0; i < D; ++i) {
      dx[b * D + i] =
          static_cast<S>((static_cast<double>(d[i]) - static_cast<double>(y[i]) * along) * factor);
    }
  }
  return dx;
}

}  // namespace

template <class S>
EmbeddingState<S> embedding_forward(const Pass& pass, const ParameterLayout& layout,
                                    const S* parameters, const S* hidden) {
  EmbeddingState<S> state;
  const S* x = pool_texts(pass, hidden, state);
  x = dense_forward(pass, layout, parameters, x, state);
  if (pass.config.embedding.normalize) {
    normalize(pass, x, state);
  } else {
    const std::int64_t count = pass.batch.sequences() * output_count(pass.config);
    state.outputs = pass.arena.take<S>(count);
    std::copy_n(x, count, state.outputs);
  }
  return state;
}

template <class S>
const S* embedding_backward(const Pass& pass, const ParameterLayout& layout,
                            const EmbeddingState<S>& state, const S* parameters, const S* doutputs,
                            S* gradients) {
  const S* d =
      pass.config.embedding.normalize ? normalize_backward(pass, state, doutputs) : doutputs;
  d = dense_backward(pass, layout, state, parameters, d, gradients);
  return pool_backward(pass, state, d);
}

template EmbeddingState<float> embedding_forward<float>(const Pass&, const ParameterLayout&,
                                                        const float*, const float*);
template EmbeddingState<double> embedding_forward<double>(const Pass&, const ParameterLayout&,
                                                          const double*, const double*);
template const float* embedding_backward<float>(const Pass&, const ParameterLayout&,
                                                const EmbeddingState<float>&, const float*,
                                                const float*, float*);
template const double* embedding_backward<double>(const Pass&, const ParameterLayout&,
                                                  const EmbeddingState<double>&, const double*,
                                                  const double*, double*);

}  // namespace dtl::trainer
