// The dense half of an encoder layer; attention.cc has the other half. Values for backward stay in
// the arena until the pass ends; each function releases everything else at its end.
#include "trainer/layers/layer.h"

#include "trainer/families/model_family.h"
#include "trainer/layers/linear.h"
#include "trainer/layers/pre_norm_layer.h"
#include "trainer/maths/gemm.h"

namespace dtl::trainer {
namespace {

// y = norm(dropout(x + bias) + residual); x becomes the normalised rows.
template <class S>
struct Norm {
  S* x;
  const S* bias;
  const std::uint8_t* mask;
  double probability;
  const S* residual;
  const S *gamma, *beta;
};

template <class S>
void run_norm(const Pass& pass, std::int64_t rows, const Norm<S>& n, S* y, S* rstd) {
  const std::int64_t H = pass.config.hidden_size;
  const S scale = static_cast<S>(Dropout(n.probability).scale());
  for_rows(pass.pool, rows, H, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * H;
    const NormInput<S> input{n.bias,
                             n.mask ? n.mask + at : nullptr,
                             scale,
                             n.residual + at,
                             n.gamma,
                             n.beta,
                             static_cast<S>(pass.config.layer_norm_eps)};
    kernels<S>().norm(count, H, input, n.x + at, y + at, rstd + first);
  });
}

// One norm's values from run_norm, for backward.
template <class S>
struct Normed {
  const S *x, *rstd, *gamma;
  const std::uint8_t* mask;
  double probability;
};

template <class S>
struct NormTargets {
  S *gamma, *beta, *bias;
};

// d, the gradient at the norm's output, becomes the one at the residual branch. Returns the
// gradient through the dropout, at the dense branch. One pass over the rows gives three sums,
// dgamma, dbeta and the dense bias; each takes a third of `sums`.
template <class S>
const S* norm_gradient(const Pass& pass, std::int64_t rows, const Normed<S>& n, S* d,
                       const NormTargets<S>& targets) {
  const std::int64_t H = pass.config.hidden_size;
  const S scale = static_cast<S>(Dropout(n.probability).scale());
  S* dense = pass.arena.take<S>(rows * H);
  S* sums = pass.arena.take<S>(3 * H);
  std::fill(sums, sums + 3 * H, S(0));
  sum_over_rows<S>(
      pass, rows, 3 * H, sums, [&](std::int64_t first, std::int64_t count, S* partial) {
        const std::int64_t at = first * H;
        const NormOutput<S> output{
            d + at, n.x + at, n.rstd + first, n.gamma, n.mask ? n.mask + at : nullptr, scale};
        kernels<S>().norm_backward(count, H, output, d + at, dense + at, partial);
      });
  kernels<S>().add(H, sums, targets.gamma);
  kernels<S>().add(H, sums + H, targets.beta);
  kernels<S>().add(H, sums + 2 * H, targets.bias);
  return dense;
}

// rows [R, H] = the chosen rows of x [T, H].
template <class S>
void gather_rows(const Pass& pass, const RowChoice& choice, const S* x, S* rows) {
  const std::int64_t H = pass.config.hidden_size;
  for (const std::int64_t token : choice.tokens) {
    rows = std::copy_n(x + token * H, H, rows);
  }
}

// Query, key and value of the rows that need them. Usually one product gives all three, [T, 3H],
// because their weights are adjacent (parameters.h). With a choice, the query has R rows and the
// others T, which takes two products.
template <class S>
void project(const Pass& pass, const LayerOffsets& at, const S* parameters, LayerState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, T = pass.batch.tokens();
  const S* weight = parameters + at.qkv_weight;
  const S* bias = parameters + at.qkv_bias;
  const auto add_bias = [&](std::int64_t rows, std::int64_t cols, S* x, const S* b) {
    for_rows(pass.pool, rows, cols, [&](std::int64_t first, std::int64_t count) {
      kernels<S>().add_bias(count, cols, x + first * cols, b);
    });
  };
  if (!state.choice) {
    state.q = pass.arena.take<S>(T * 3 * H);
    state.k = state.q + H;
    state.v = state.q + 2 * H;
    state.q_stride = state.kv_stride = 3 * H;
    // The residual branch adds the rows of the queries.
    state.query_input = state.input;
    linear(pass, T, 3 * H, H, state.input, weight, state.q, 3 * H);
    add_bias(T, 3 * H, state.q, bias);
    return;
  }
  S* rows = pass.arena.take<S>(state.rows * H);
  gather_rows(pass, *state.choice, state.input, rows);
  state.query_input = rows;
  state.q = pass.arena.take<S>(state.rows * H);
  state.k = pass.arena.take<S>(T * 2 * H);
  state.v = state.k + H;
  state.q_stride = H;
  state.kv_stride = 2 * H;
  linear(pass, state.rows, H, H, state.query_input, weight, state.q, H);
  linear(pass, T, 2 * H, H, state.input, weight + H * H, state.k, 2 * H);
  add_bias(state.rows, H, state.q, bias);
  add_bias(T, 2 * H, state.k, bias + H);
}

// DistilBERT has no dropout after attention.
double out_dropout(const Pass& pass) {
  return family_of(pass.config).drops_attention_output ? pass.config.hidden_dropout : 0.0;
}

// Takes the dense parts' values for backward. Call before the mark that layer_forward releases.
template <class S>
void allocate_dense(const Pass& pass, int layer, LayerState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, R = state.rows;
  Arena& arena = pass.arena;
  state.normed1 = arena.take<S>(R * H);
  state.rstd1 = arena.take<S>(R);
  state.up = arena.take<S>(R * pass.config.intermediate_size);
  state.normed2 = arena.take<S>(R * H);
  state.rstd2 = arena.take<S>(R);
  state.output = arena.take<S>(R * H);
  state.out_mask = hidden_mask(pass, out_dropout(pass), attention_output_site(layer), state.starts);
  state.down_mask =
      hidden_mask(pass, pass.config.hidden_dropout, feed_forward_site(layer), state.starts);
}

// middle: h [R, H]. `up` keeps the sum with its bias, because the kernel adds the bias in place;
// normed2 first holds the product, then the normalised rows.
template <class S>
void feed_forward(const Pass& pass, const LayerOffsets& at, const S* parameters, const S* middle,
                  LayerState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, I = pass.config.intermediate_size;
  const std::int64_t R = state.rows;
  S* const activated = pass.arena.take<S>(R * I);
  linear(pass, R, I, H, middle, parameters + at.up_weight, state.up, I);
  for_rows(pass.pool, R, I, [&](std::int64_t first, std::int64_t count) {
    kernels<S>().activation(pass.config.activation, count, I, state.up + first * I,
                            parameters + at.up_bias, activated + first * I);
  });
  linear(pass, R, H, I, activated, parameters + at.down_weight, state.normed2, H);
  run_norm<S>(
      pass, R,
      {state.normed2, parameters + at.down_bias, state.down_mask, pass.config.hidden_dropout,
       middle, parameters + at.norm2_weight, parameters + at.norm2_bias},
      state.output, state.rstd2);
}

// Computes gelu(up) again, [R, I].
template <class S>
void activate_again(const Pass& pass, const LayerState<S>& state, S* activated) {
  const std::int64_t I = pass.config.intermediate_size;
  S* const no_bias = pass.arena.take<S>(I);  // `up` already includes it
  std::fill(no_bias, no_bias + I, S(0));
  for_rows(pass.pool, state.rows, I, [&](std::int64_t first, std::int64_t count) {
    kernels<S>().activation(pass.config.activation, count, I, state.up + first * I, no_bias,
                            activated + first * I);
  });
}

// d: gradient at y, becomes that at h. A step must wait for the sums of the lowest layer's
// gradients. So that layer computes down_weight's gradients, a third of them, first, which takes
// another pass of the activation. In other layers, activation_backward gives gelu(up) without that
// pass.
template <class S>
void feed_forward_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                           const S* parameters, S* d, S* gradients, const GradientsDone& done) {
  const std::int64_t H = pass.config.hidden_size, I = pass.config.intermediate_size;
  const std::int64_t R = state.rows;
  const S* dense = norm_gradient<S>(
      pass, R,
      {state.normed2, state.rstd2, parameters + at.norm2_weight, state.down_mask,
       pass.config.hidden_dropout},
      d, {gradients + at.norm2_weight, gradients + at.norm2_bias, gradients + at.down_bias});
  S* dup = pass.arena.take<S>(R * I);
  S* activated = pass.arena.take<S>(R * I);
  const auto down_gradient = [&] {
    linear_dw(pass, R, H, I, dense, H, activated, gradients + at.down_weight);
    done(at.down_weight);
  };
  if (state.is_lowest) {
    activate_again(pass, state, activated);
    down_gradient();
  }
  linear_dx(pass, R, H, I, {dense, H}, parameters + at.down_weight, S(0), dup);
  sum_over_rows<S>(
      pass, R, I, gradients + at.up_bias, [&](std::int64_t first, std::int64_t count, S* sums) {
        kernels<S>().activation_backward(pass.config.activation, count, I, state.up + first * I,
                                         dup + first * I, sums, activated + first * I);
      });
  if (!state.is_lowest) down_gradient();
  // Compute h = norm1's output again: one pass over [R, H] instead of the memory to keep it.
  S* middle = pass.arena.take<S>(R * H);
  for_rows(pass.pool, R, H, [&](std::int64_t first, std::int64_t count) {
    kernels<S>().norm_output(count, H, state.normed1 + first * H, parameters + at.norm1_weight,
                             parameters + at.norm1_bias, middle + first * H);
  });
  linear_dw(pass, R, I, H, dup, I, middle, gradients + at.up_weight);
  // Complete from up_weight on. norm1 and earlier tensors are not complete yet.
  done(at.up_weight);
  // beta 1: d already holds the residual branch's gradient.
  linear_dx(pass, R, I, H, {dup, I}, parameters + at.up_weight, S(1), d);
}

// Backward through the projections to the input: d [R, H] is the residual branch's gradient and
// becomes the gradient at the input, [T, H]. With a choice, d grows from R rows to T: its rows are
// copied, the product with keys and values fills all T rows, and each chosen row gets its own
// gradient added.
template <class S>
void project_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                      const S* parameters, const S* dcontext, S* d, S* gradients,
                      const GradientsDone& done) {
  const std::int64_t H = pass.config.hidden_size, T = pass.batch.tokens(), R = state.rows;
  const S* weight = parameters + at.qkv_weight;
  S* dweight = gradients + at.qkv_weight;
  S* dbias = gradients + at.qkv_bias;
  const auto bias_sums = [&](std::int64_t rows, std::int64_t cols, const S* dx, S* target) {
    sum_over_rows<S>(pass, rows, cols, target,
                     [&](std::int64_t first, std::int64_t count, S* sums) {
                       kernels<S>().column_sums(count, cols, dx + first * cols, sums);
                     });
  };
  if (!state.choice) {
    S* dqkv = pass.arena.take<S>(T * 3 * H);
    attention_backward<S>(pass, state, dcontext, dqkv, 3 * H, dqkv + H, dqkv + 2 * H, 3 * H);
    if (state.terms) state.terms->finish(pass, parameters, gradients);
    linear_dw(pass, T, 3 * H, H, dqkv, 3 * H, state.input, dweight);
    bias_sums(T, 3 * H, dqkv, dbias);
    done(at.qkv_weight);
    linear_dx(pass, T, 3 * H, H, {dqkv, 3 * H}, weight, S(1), d);
    return;
  }
  S* dq = pass.arena.take<S>(R * H);
  S* dkv = pass.arena.take<S>(T * 2 * H);
  attention_backward<S>(pass, state, dcontext, dq, H, dkv, dkv + H, 2 * H);
  if (state.terms) state.terms->finish(pass, parameters, gradients);
  linear_dw(pass, R, H, H, dq, H, state.query_input, dweight);
  linear_dw(pass, T, 2 * H, H, dkv, 2 * H, state.input, dweight + H * H);
  bias_sums(R, H, dq, dbias);
  bias_sums(T, 2 * H, dkv, dbias + H);
  done(at.qkv_weight);
  linear_dx(pass, R, H, H, {dq, H}, weight, S(1), d);
  // d holds R rows. The next product overwrites them, so copy them.
  S* rows = pass.arena.take<S>(R * H);
  std::copy(d, d + R * H, rows);
  linear_dx(pass, T, 2 * H, H, {dkv, 2 * H}, weight + H * H, S(0), d);
  for (std::int64_t row = 0; row < R; ++row) {
    const std::int64_t token = state.choice->tokens[static_cast<std::size_t>(row)];
    kernels<S>().add(H, rows + row * H, d + token * H);
  }
}

}  // namespace

// One task per sequence: masks are per example, wherever its rows are in the batch.
std::uint8_t* hidden_mask(const Pass& pass, double probability, std::uint32_t site,
                          const std::vector<std::int64_t>& row_starts, std::int64_t width) {
  const Dropout dropout(probability);
  if (!pass.dropout || !dropout.active()) return nullptr;
  const std::int64_t W = width > 0 ? width : pass.config.hidden_size;
  auto* mask = pass.arena.take<std::uint8_t>(row_starts.back() * W);
  pass.pool.run(pass.batch.sequences(), 8 * row_starts.back() * W, [&](std::int64_t sequence, int) {
    const auto s = static_cast<std::size_t>(sequence);
    dropout.mask(*pass.dropout, site, 0, pass.batch.numbers[s],
                 (row_starts[s + 1] - row_starts[s]) * W, mask + row_starts[s] * W);
  });
  return mask;
}

template <class S>
LayerState<S> layer_forward(const Pass& pass, const LayerOffsets& at, int layer,
                            const RowChoice* choice, const S* parameters, const S* input) {
  if (is_pre_norm(pass.config)) {
    return pre_norm_forward<S>(pass, at, layer, choice, parameters, input);
  }
  const std::int64_t H = pass.config.hidden_size;
  LayerState<S> state;
  state.is_lowest = layer == 0;
  state.choice = choice;
  state.input = input;
  state.starts = choice ? choice->starts : pass.batch.starts;
  state.rows = state.starts.back();
  project(pass, at, parameters, state);
  state.context = pass.arena.take<S>(state.rows * H);
  state.terms = make_score_terms<S>(pass, at, layer, parameters);
  attention_forward(pass, layer, state);
  allocate_dense(pass, layer, state);
  // From here on: scratch of forward. Values for backward are below.
  const std::size_t kept = pass.arena.mark();
  S* const middle = pass.arena.take<S>(state.rows * H);
  linear(pass, state.rows, H, H, state.context, parameters + at.out_weight, state.normed1, H);
  run_norm<S>(pass, state.rows,
              {state.normed1, parameters + at.out_bias, state.out_mask, out_dropout(pass),
               state.query_input, parameters + at.norm1_weight, parameters + at.norm1_bias},
              middle, state.rstd1);
  feed_forward(pass, at, parameters, middle, state);
  // The next layer's scratch reuses it; `state` has no pointers into it.
  pass.arena.release(kept);
  return state;
}

template <class S>
void layer_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                    const S* parameters, S* d, S* gradients, const GradientsDone& done) {
  if (is_pre_norm(pass.config)) {
    return pre_norm_backward<S>(pass, at, state, parameters, d, gradients, done);
  }
  const std::int64_t H = pass.config.hidden_size;
  // Release scratch between backward's two halves: the larger half counts, not the sum.
  const std::size_t before = pass.arena.mark();
  feed_forward_backward(pass, at, state, parameters, d, gradients, done);
  pass.arena.release(before);
  const S* dense = norm_gradient<S>(
      pass, state.rows,
      {state.normed1, state.rstd1, parameters + at.norm1_weight, state.out_mask, out_dropout(pass)},
      d, {gradients + at.norm1_weight, gradients + at.norm1_bias, gradients + at.out_bias});
  linear_dw(pass, state.rows, H, H, dense, H, state.context, gradients + at.out_weight);
  done(at.out_weight);
  S* dcontext = pass.arena.take<S>(state.rows * H);
  linear_dx(pass, state.rows, H, H, {dense, H}, parameters + at.out_weight, S(0), dcontext);
  project_backward(pass, at, state, parameters, dcontext, d, gradients, done);
  pass.arena.release(before);
}

template LayerState<float> layer_forward<float>(const Pass&, const LayerOffsets&, int,
                                                const RowChoice*, const float*, const float*);
template LayerState<double> layer_forward<double>(const Pass&, const LayerOffsets&, int,
                                                  const RowChoice*, const double*, const double*);
template void layer_backward<float>(const Pass&, const LayerOffsets&, const LayerState<float>&,
                                    const float*, float*, float*, const GradientsDone&);
template void layer_backward<double>(const Pass&, const LayerOffsets&, const LayerState<double>&,
                                     const double*, double*, double*, const GradientsDone&);

}  // namespace dtl::trainer
