// The head's products use float32 at every precision: in a model of BERT's size they are less than
// a thousandth of the arithmetic.
#include "trainer/model/head.h"

#include <algorithm>
#include <cmath>

#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/layers/affine.h"
#include "trainer/layers/row_norm.h"
#include "trainer/model/text_pooling.h"

namespace dtl::trainer {
namespace {

// Like Batch::starts, for a matrix with one row per sequence.
std::vector<std::int64_t> one_row_each(std::int64_t sequences) {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(sequences) + 1);
  for (std::size_t s = 0; s < starts.size(); ++s) starts[s] = static_cast<std::int64_t>(s);
  return starts;
}

Activation gelu_of(HeadActivation kind) {
  return kind == HeadActivation::kGeluTanh ? Activation::kGeluTanh : Activation::kGelu;
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
    case HeadActivation::kGelu:
    case HeadActivation::kGeluTanh: {
      const std::vector<S> no_bias(static_cast<std::size_t>(H));
      for_rows(pass.pool, state.rows, H, [&](std::int64_t first, std::int64_t rows) {
        kernels<S>().activation(gelu_of(kind), rows, H, x + first * H, no_bias.data(),
                                a + first * H);
      });
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
    case HeadActivation::kGelu:
    case HeadActivation::kGeluTanh: {
      S* again = pass.arena.take<S>(count);  // gelu(x), which nobody needs, as the sums
      S* unused = pass.arena.take<S>(H);
      std::fill_n(unused, H, S(0));
      sum_over_rows<S>(pass, state.rows, H, unused,
                       [&](std::int64_t first, std::int64_t rows, S* sums) {
                         const std::int64_t at = first * H;
                         kernels<S>().activation_backward(gelu_of(kind), rows, H, state.dense + at,
                                                          d + at, sums, again + at);
                       });
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

// The input of the output layer, before its dropout, from h.
template <class S>
const S* dense_rows(const Pass& pass, const ParameterLayout& layout, const HeadForm& form,
                    const std::vector<std::int64_t>& starts, const S* parameters, const S* h,
                    HeadState<S>& state) {
  const std::int64_t H = pass.config.hidden_size;
  state.dense_mask = hidden_mask(pass, form.dense_dropout, kHeadDenseSite, starts);
  state.input = dropped_rows(pass, state.rows, state.dense_mask, form.dense_dropout, h);
  state.dense = pass.arena.take<S>(state.rows * H);
  state.pooled = pass.arena.take<S>(state.rows * H);
  affine(pass, state.rows, H, H, state.input, parameters + layout.pool_weight,
         layout.pool_bias < 0 ? nullptr : parameters + layout.pool_bias, state.dense);
  activate(pass, form.activation, state);
  if (form.norm.empty()) return state.pooled;
  state.normed = pass.arena.take<S>(state.rows * H);
  state.rstd = pass.arena.take<S>(state.rows);
  S* output = pass.arena.take<S>(state.rows * H);
  std::copy_n(state.pooled, state.rows * H, state.normed);
  norm_rows(pass, state.rows, {layout.head_norm_weight, layout.head_norm_bias}, parameters,
            state.normed, output, state.rstd);
  return output;
}

// Whether each text has one row, which may be pooled.
bool reads_rows_of_texts(const ModelConfig& config) {
  return head_of(config).rows == HeadRows::kFirstTokens;
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
  if (reads_rows_of_texts(pass.config)) {
    std::int32_t* unused = nullptr;
    state.dropped = pool_texts(pass, pass.config.classifier_pooling, hidden, &unused);
  }
  if (!form.dense.empty()) {
    state.dropped = dense_rows(pass, layout, form, starts, parameters, state.dropped, state);
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
  if (!form.dense.empty()) {
    if (state.normed) {
      norm_rows_backward<S>(pass, state.rows, {layout.head_norm_weight, layout.head_norm_bias},
                            parameters, {state.normed, state.rstd}, d, d, gradients);
    }
    activate_backward(pass, form.activation, state, d);
    S* bias = layout.pool_bias < 0 ? nullptr : gradients + layout.pool_bias;
    d = affine_backward<S>(pass, state.rows, H, H, d, state.input, parameters + layout.pool_weight,
                           {gradients + layout.pool_weight, bias});
    if (state.dense_mask) {
      apply_dropout<S>(pass, state.rows, state.dense_mask, form.dense_dropout, d, d);
    }
  }
  if (!reads_rows_of_texts(pass.config)) return d;
  return pool_texts_backward<S>(pass, pass.config.classifier_pooling, nullptr, d);
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
