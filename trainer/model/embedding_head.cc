// One row per text: a thousandth of the arithmetic.
#include "trainer/model/embedding_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trainer/families/task_head.h"
#include "trainer/layers/affine.h"
#include "trainer/model/text_pooling.h"
#include "trainer/model/unit_rows.h"

namespace dtl::trainer {
namespace {

// In double whatever S is: there are few rows, so exactness costs nothing.
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
  const S* x = pool_texts(pass, pass.config.embedding.pooling, hidden, &state.highest);
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
  return pool_texts_backward(pass, pass.config.embedding.pooling, state.highest, d);
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
