// The products with the word embeddings are most of the work, in float32 at every precision.
#include "trainer/model/masked_head.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/families/model_family.h"
#include "trainer/layers/row_norm.h"
#include "trainer/maths/gemm.h"

namespace dtl::trainer {

template <class S>
MaskedHeadState<S> masked_head_forward(const Pass& pass, const ParameterLayout& layout,
                                       const S* parameters, const S* hidden) {
  const std::int64_t E = embedding_width(pass.config), H = pass.config.hidden_size;
  const std::int64_t V = pass.config.vocab_size;
  MaskedHeadState<S> state;
  const std::int64_t M = state.rows = std::ssize(pass.batch.masked);
  state.input = hidden;
  state.dense = pass.arena.take<S>(M * E);
  state.normed = pass.arena.take<S>(M * E);
  state.rstd = pass.arena.take<S>(M);
  state.words = pass.arena.take<S>(M * E);
  state.logits = pass.arena.take<S>(M * V);
  matmul<S>(pass.pool, {M, E, H}, {hidden, H}, {parameters + layout.pool_weight, H, Op::kTranspose},
            S(0), {state.dense, E});
  const S* bias = bias_or_zeros(pass, parameters, layout.pool_bias, E);
  // The bias is added inside the activation, which saves a pass over the rows.
  for_rows(pass.pool, M, E, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * E;
    kernels<S>().activation(masked_activation(pass.config), count, E, state.dense + at, bias,
                            state.normed + at);
  });
  norm_rows(pass, M, {layout.head_norm_weight, layout.head_norm_bias, E}, parameters, state.normed,
            state.words, state.rstd);
  matmul<S>(pass.pool, {M, V, E}, {state.words, E}, {parameters + layout.word, E, Op::kTranspose},
            S(0), {state.logits, V});
  if (layout.class_bias < 0) return state;
  for_rows(pass.pool, M, V, [&](std::int64_t first, std::int64_t count) {
    kernels<S>().add_bias(count, V, state.logits + first * V, parameters + layout.class_bias);
  });
  return state;
}

template <class S>
double masked_losses(const Pass& pass, MaskedHeadState<S>& state, S* outputs) {
  const std::int64_t V = pass.config.vocab_size;
  // Evaluation reads a row for each token, and most tokens are not masked.
  if (outputs) std::fill_n(outputs, 2 * pass.batch.tokens(), S(0));
  // One for each row, summed in order below: a sum that threads share would depend on their timing.
  std::vector<double> losses(static_cast<std::size_t>(state.rows));
  for_rows(pass.pool, state.rows, V, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      S* x = state.logits + row * V;
      const auto r = static_cast<std::size_t>(row);
      const std::int64_t best = std::max_element(x, x + V) - x;
      const auto highest = static_cast<double>(x[best]);
      const std::int32_t original = pass.batch.originals[r];
      // Read before softmax() overwrites the logits, which have the size of the vocabulary.
      const auto right = static_cast<double>(x[original]);
      kernels<S>().softmax(1, V, S(1), x, nullptr, S(1), x);
      // log(sum of exp) = x - log(probability) of any token; the best one's is the most exact.
      losses[r] = highest - std::log(static_cast<double>(x[best])) - right;
      if (outputs == nullptr) continue;
      S* output = outputs + 2 * pass.batch.masked[r];
      output[0] = static_cast<S>(losses[r]);
      output[1] = best == original ? S(2) : S(1);
    }
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

template <class S>
S* masked_head_backward(const Pass& pass, const ParameterLayout& layout,
                        const MaskedHeadState<S>& state, const S* parameters, S weight,
                        S* gradients) {
  const std::int64_t E = embedding_width(pass.config), H = pass.config.hidden_size;
  const std::int64_t V = pass.config.vocab_size, M = state.rows;
  S* d = state.logits;  // p - 1 at the original, times weight
  S* dbias = gradient_or_unused(pass, gradients, layout.class_bias, V);
  sum_over_rows<S>(pass, M, V, dbias, [&](std::int64_t first, std::int64_t count, S* sums) {
    for (std::int64_t row = first; row < first + count; ++row) {
      S* x = d + row * V;
      x[pass.batch.originals[static_cast<std::size_t>(row)]] -= S(1);
      for (std::int64_t v = 0; v < V; ++v) x[v] *= weight;
    }
    kernels<S>().column_sums(count, V, d + first * V, sums);
  });
  // Added, since the word embeddings are tied: the encoder's input layer adds its part to the same
  // gradient.
  matmul<S>(pass.pool, {V, E, M}, {d, V, Op::kTranspose}, {state.words, E}, S(1),
            {gradients + layout.word, E});
  S* dwords = pass.arena.take<S>(M * E);
  matmul<S>(pass.pool, {M, E, V}, {d, V}, {parameters + layout.word, E}, S(0), {dwords, E});
  norm_rows_backward<S>(pass, M, {layout.head_norm_weight, layout.head_norm_bias, E}, parameters,
                        {state.normed, state.rstd}, dwords, dwords, gradients);
  S* activated = pass.arena.take<S>(M * E);  // which nobody needs
  sum_over_rows<S>(pass, M, E, gradient_or_unused(pass, gradients, layout.pool_bias, E),
                   [&](std::int64_t first, std::int64_t count, S* partial) {
                     const std::int64_t at = first * E;
                     kernels<S>().activation_backward(masked_activation(pass.config), count, E,
                                                      state.dense + at, dwords + at, partial,
                                                      activated + at);
                   });
  matmul<S>(pass.pool, {E, H, M}, {dwords, E, Op::kTranspose}, {state.input, H}, S(1),
            {gradients + layout.pool_weight, H});
  S* dhidden = pass.arena.take<S>(M * H);
  matmul<S>(pass.pool, {M, H, E}, {dwords, E}, {parameters + layout.pool_weight, H}, S(0),
            {dhidden, H});
  return dhidden;
}

template MaskedHeadState<float> masked_head_forward<float>(const Pass&, const ParameterLayout&,
                                                           const float*, const float*);
template MaskedHeadState<double> masked_head_forward<double>(const Pass&, const ParameterLayout&,
                                                             const double*, const double*);
template double masked_losses<float>(const Pass&, MaskedHeadState<float>&, float*);
template double masked_losses<double>(const Pass&, MaskedHeadState<double>&, double*);
template float* masked_head_backward<float>(const Pass&, const ParameterLayout&,
                                            const MaskedHeadState<float>&, const float*, float,
                                            float*);
template double* masked_head_backward<double>(const Pass&, const ParameterLayout&,
                                              const MaskedHeadState<double>&, const double*, double,
                                              double*);

}  // namespace dtl::trainer
