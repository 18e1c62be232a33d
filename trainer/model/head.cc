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

// a = activation(x), [R, H]; x has its bias. For gelu, `pooled` keeps a and `dense` keeps x.
template <class S>
void activate(const Pass& pass, HeadActivation kind, HeadState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, count = state.rows * H;
  S *x = state.dense, *a = state.pooled;
  switch (kind) {
    case HeadActivation::kTanh:
      for (std::int64_t i = 0; i < count; ++i) a[i] = std::tanh(x[i]);
      return;
    case HeadActivation::kRelu:
      for (std::int64_t i = 0; i < count; ++i) a[i] = std::max(x[i], S(0));
      return;
    case HeadActivation::kGelu: {
      const std::vector<S> no_bias(static_cast<std::size_t>(H));
      kernels<S>().activation(Activation::kGelu, state.rows, H, x, no_bias.data(), a);
      return;
    }
  }
}

// d becomes d * activation'(x). The slopes of tanh and relu follow from the output a: 1 - a^2; 1 if
// a > 0.
template <class S>
void activate_backward(const Pass& pass, HeadActivation kind, const HeadState<S>& state, S* d) {
  const std::int64_t H = pass.config.hidden_size, count = state.rows * H;
  const S* a = state.pooled;
  switch (kind) {
    case HeadActivation::kTanh:
      for (std::int64_t i = 0; i < count; ++i) d[i] *= S(1) - a[i] * a[i];
      return;
    case HeadActivation::kRelu:
      for (std::int64_t i = 0; i < count; ++i) d[i] *= a[i] > S(0) ? S(1) : S(0);
      return;
    case HeadActivation::kGelu: {
      std::vector<S> unused_sums(static_cast<std::size_t>(H));
      S* again = pass.arena.take<S>(count);  // gelu(x), which nobody needs
      kernels<S>().activation_backward(Activation::kGelu, state.rows, H, state.dense, d,
                                       unused_sums.data(), again);
      return;
    }
  }
}

// y = dropout(x), also for gradients; y may be x. [R, H]
template <class S>
void apply_dropout(const Pass& pass, std::int64_t rows, const std::uint8_t* mask,
                   double probability, const S* x, S* y) {
  const std::int64_t H = pass.config.hidden_size;
  const S scale = static_cast<S>(Dropout(probability).scale());
  for_rows(pass.pool, rows, H, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * H;
    kernels<S>().apply_mask(count * H, mask + at, scale, x + at, y + at);
  });
}

// dropout(x) in the arena, or x without dropout.
template <class S>
const S* dropped_rows(const Pass& pass, std::int64_t rows, const std::uint8_t* mask,
                      double probability, const S* x) {
  if (mask == nullptr) return x;
  S* dropped = pass.arena.take<S>(rows * pass.config.hidden_size);
  apply_dropout<S>(pass, rows, mask, probability, x, dropped);
  return dropped;
}

}  // namespace

template <class S>
HeadState<S> head_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters,
                          const S* hidden) {
  const std::int64_t H = pass.config.hidden_size, O = output_count(pass.config);
  HeadState<S> state;
  state.rows = output_rows(pass.config, pass.batch);
  if (pass.config.task == Task::kEmbeddings) {
    state.embedding = embedding_forward(pass, layout, parameters, hidden);
    state.outputs = state.embedding.outputs;
    return state;
  }
  const HeadForm form = family_of(pass.config).head(pass.config);
  const bool all_tokens = head_of(pass.config).rows == HeadRows::kAllTokens;
  const std::vector<std::int64_t> starts =
      all_tokens ? pass.batch.starts : one_row_each(state.rows);
  state.dropped = hidden;
  if (!form.dense.empty()) {
    state.dense_mask = hidden_mask(pass, form.dense_dropout, kHeadDenseSite, starts);
    state.input = dropped_rows(pass, state.rows, state.dense_mask, form.dense_dropout, hidden);
    state.dense = pass.arena.take<S>(state.rows * H);
    state.pooled = pass.arena.take<S>(state.rows * H);
    affine(pass, state.rows, H, H, state.input, parameters + layout.pool_weight,
           parameters + layout.pool_bias, state.dense);
    activate(pass, form.activation, state);
    state.dropped = state.pooled;
  }
  state.mask = hidden_mask(pass, form.dropout, kClassifierSite, starts);
  state.dropped = dropped_rows(pass, state.rows, state.mask, form.dropout, state.dropped);
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
  const HeadForm form = family_of(pass.config).head(pass.config);
  // The same mask and factor as in forward: dropout is linear.
  if (state.mask) apply_dropout<S>(pass, state.rows, state.mask, form.dropout, d, d);
  // Without a dense layer, d already is the gradient at the last layer's output.
  if (form.dense.empty()) return d;
  activate_backward(pass, form.activation, state, d);
  d = affine_backward<S>(pass, state.rows, H, H, d, state.input, parameters + layout.pool_weight,
                         {gradients + layout.pool_weight, gradients + layout.pool_bias});
  if (state.dense_mask) {
    apply_dropout<S>(pass, state.rows, state.dense_mask, form.dense_dropout, d, d);
  }
  return d;
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
