// The head's products use float32 at every precision: in a model of BERT's size they are less than
// a thousandth of the arithmetic.
#include "trainer/model/head.h"

#include <algorithm>
#include <cmath>

#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/layers/affine.h"

namespace dtl::trainer {
namespace {

// Like Batch::starts, for a matrix with one row per sequence.
std::vector<std::int64_t> one_row_each(std::int64_t sequences) {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(sequences) + 1);
  for (std::size_t s = 0; s < starts.size(); ++s) starts[s] = static_cast<std::int64_t>(s);
  return starts;
}

template <class S>
void pool_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters,
                  HeadState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, count = state.rows * H;
  state.pooled = pass.arena.take<S>(count);
  affine(pass, state.rows, H, H, state.input, parameters + layout.pool_weight,
         parameters + layout.pool_bias, state.pooled);
  const bool tanh = family_of(pass.config).pooling == Pooling::kTanh;
  for (std::int64_t i = 0; i < count; ++i) {
    state.pooled[i] = tanh ? std::tanh(state.pooled[i]) : std::max(state.pooled[i], S(0));
  }
}

// Overwrites d [R, H], the gradient at the pooled rows. Both slopes follow from the output a: 1 -
// a^2 for tanh; for relu, 1 if a > 0. So forward does not keep its input.
template <class S>
const S* pool_backward(const Pass& pass, const ParameterLayout& layout, const HeadState<S>& state,
                       const S* parameters, S* d, S* gradients) {
  const std::int64_t H = pass.config.hidden_size;
  const bool tanh = family_of(pass.config).pooling == Pooling::kTanh;
  for (std::int64_t i = 0; i < state.rows * H; ++i) {
    const S a = state.pooled[i];
    d[i] *= tanh ? S(1) - a * a : (a > S(0) ? S(1) : S(0));
  }
  return affine_backward<S>(pass, state.rows, H, H, d, state.input, parameters + layout.pool_weight,
                            {gradients + layout.pool_weight, gradients + layout.pool_bias});
}

// y = dropout(x), also for gradients; y may be x. [R, H]
template <class S>
void apply_dropout(const Pass& pass, const HeadState<S>& state, const S* x, S* y) {
  const std::int64_t H = pass.config.hidden_size;
  const S scale = static_cast<S>(Dropout(head_of(pass.config).dropout(pass.config)).scale());
  for_rows(pass.pool, state.rows, H, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * H;
    kernels<S>().apply_mask(count * H, state.mask + at, scale, x + at, y + at);
  });
}

}  // namespace

template <class S>
HeadState<S> head_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters,
                          const S* hidden) {
  const std::int64_t H = pass.config.hidden_size, O = output_count(pass.config);
  const TaskHead& head = head_of(pass.config);
  const bool all_tokens = head.rows == HeadRows::kAllTokens;
  HeadState<S> state;
  state.rows = output_rows(pass.config, pass.batch);
  if (pass.config.task == Task::kEmbeddings) {
    state.embedding = embedding_forward(pass, layout, parameters, hidden);
    state.outputs = state.embedding.outputs;
    return state;
  }
  state.input = hidden;
  if (head.pools) pool_forward(pass, layout, parameters, state);
  state.dropped = head.pools ? state.pooled : hidden;
  state.mask = hidden_mask(pass, head.dropout(pass.config), kClassifierSite,
                           all_tokens ? pass.batch.starts : one_row_each(state.rows));
  if (state.mask) {
    S* dropped = pass.arena.take<S>(state.rows * H);
    apply_dropout(pass, state, state.dropped, dropped);
    state.dropped = dropped;
  }
  state.outputs = pass.arena.take<S>(state.rows * O);
  affine(pass, state.rows, O, H, state.dropped, parameters + layout.class_weight,
         parameters + layout.class_bias, state.outputs);
  return state;
}

template <class S>
const S* head_backward(const Pass& pass, const ParameterLayout& layout, const HeadState<S>& state,
                       const S* parameters, const S* doutputs, S* gradients) {
  if (pass.config.task == Task::kEmbeddings) {
    return embedding_backward(pass, layout, state.embedding, parameters, doutputs, gradients);
  }
  const std::int64_t H = pass.config.hidden_size, O = output_count(pass.config);
  S* d = affine_backward<S>(pass, state.rows, O, H, doutputs, state.dropped,
                            parameters + layout.class_weight,
                            {gradients + layout.class_weight, gradients + layout.class_bias});
  // The same mask and factor as in forward: dropout is linear.
  if (state.mask) apply_dropout<S>(pass, state, d, d);
  // Without a pooler, d already is the gradient at the last layer's output.
  if (!head_of(pass.config).pools) return d;
  return pool_backward(pass, layout, state, parameters, d, gradients);
}

template HeadState<float> head_forward<float>(const Pass&, const ParameterLayout&, const float*,
                                              const float*);
template HeadState<double> head_forward<double>(const Pass&, const ParameterLayout&, const double*,
                                                const double*);
template const float* head_backward<float>(const Pass&, const ParameterLayout&,
                                           const HeadState<float>&, const float*, const float*,
                                           float*);
template const double* head_backward<double>(const Pass&, const ParameterLayout&,
                                             const HeadState<double>&, const double*, const double*,
                                             double*);

}  // namespace dtl::trainer
