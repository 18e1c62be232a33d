// Each function releases what it takes from the arena, except values for backward, which are taken
// before anything else.
#include "trainer/layers/pre_norm_layer.h"

#include "trainer/layers/linear.h"
#include "trainer/layers/row_norm.h"
#include "trainer/layers/window_attention.h"

namespace dtl::trainer {
namespace {

std::int64_t window_of(const Pass& pass, int layer) {
  const PreNormConfig& own = pass.config.pre_norm;
  return own.is_local(layer) ? own.local_window() : kWholeText;
}

// x += bias, if there is one.
template <class S>
void add_optional_bias(const Pass& pass, std::int64_t rows, std::int64_t cols, S* x,
                       const S* parameters, std::int64_t offset) {
  if (offset < 0) return;
  for_rows(pass.pool, rows, cols, [&](std::int64_t first, std::int64_t count) {
    kernels<S>().add_bias(count, cols, x + first * cols, parameters + offset);
  });
}

template <class S>
void optional_bias_gradient(const Pass& pass, std::int64_t rows, std::int64_t cols, const S* dx,
                            S* gradients, std::int64_t offset) {
  if (offset < 0) return;
  sum_over_rows<S>(pass, rows, cols, gradients + offset,
                   [&](std::int64_t first, std::int64_t count, S* sums) {
                     kernels<S>().column_sums(count, cols, dx + first * cols, sums);
                   });
}

// x += y, [rows, H].
template <class S>
void add_rows(const Pass& pass, std::int64_t rows, const S* y, S* x) {
  const std::int64_t H = pass.config.hidden_size;
  for_rows(pass.pool, rows, H, [&](std::int64_t first, std::int64_t count) {
    kernels<S>().add(count * H, y + first * H, x + first * H);
  });
}

template <class S>
void copy_rows(const Pass& pass, std::int64_t rows, const S* x, S* y) {
  const std::int64_t H = pass.config.hidden_size;
  for_rows(pass.pool, rows, H, [&](std::int64_t first, std::int64_t count) {
    std::copy_n(x + first * H, count * H, y + first * H);
  });
}

// Rows and what their norm left, in the arena. Without a norm, y is x.
template <class S>
struct NormedRows {
  const S* y;
  S *normed = nullptr, *rstd = nullptr;
};

template <class S>
NormedRows<S> normed_copy(const Pass& pass, std::int64_t rows, const NormOffsets& at,
                          const S* parameters, const S* x) {
  if (at.weight < 0) return {x};
  const std::int64_t H = pass.config.hidden_size;
  NormedRows<S> result;
  S* y = pass.arena.take<S>(rows * H);
  result.normed = pass.arena.take<S>(rows * H);
  result.rstd = pass.arena.take<S>(rows);
  copy_rows(pass, rows, x, result.normed);
  norm_rows(pass, rows, at, parameters, result.normed, y, result.rstd);
  result.y = y;
  return result;
}

NormOffsets norm1_of(const LayerOffsets& at) {
  return {at.norm1_weight, at.norm1_bias};
}
NormOffsets norm2_of(const LayerOffsets& at) {
  return {at.norm2_weight, at.norm2_bias};
}

// Takes the values for backward.
template <class S>
void allocate_state(const Pass& pass, const LayerOffsets& at, LayerState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, I = pass.config.intermediate_size;
  const std::int64_t T = pass.batch.tokens(), R = state.rows;
  Arena& arena = pass.arena;
  state.query_input = state.input;
  if (state.choice) {
    S* rows = arena.take<S>(R * H);
    state.query_input = rows;
    for (const std::int64_t token : state.choice->tokens) {
      rows = std::copy_n(state.input + token * H, H, rows);
    }
    state.q = arena.take<S>(R * H);
    state.k = arena.take<S>(T * 2 * H);
    state.v = state.k + H;
    state.q_stride = H;
    state.kv_stride = 2 * H;
  } else {
    state.q = arena.take<S>(T * 3 * H);
    state.k = state.q + H;
    state.v = state.q + 2 * H;
    state.q_stride = state.kv_stride = 3 * H;
  }
  state.context = arena.take<S>(R * H);
  state.middle = arena.take<S>(R * H);
  state.up = arena.take<S>(R * I);
  state.gate = arena.take<S>(R * I);
  state.output = arena.take<S>(R * H);
  if (at.final_weight >= 0) {
    state.normed2 = arena.take<S>(R * H);
    state.rstd2 = arena.take<S>(R);
  }
  state.out_mask = hidden_mask(pass, pass.config.attention_dropout,
                               attention_output_site(state.number), state.starts, H);
  state.down_mask = hidden_mask(pass, pass.config.pre_norm.feed_forward_dropout,
                                feed_forward_site(state.number), state.starts, I);
}

// Query, key and value, rotated.
template <class S>
void project_rotated(const Pass& pass, const LayerOffsets& at, const S* parameters,
                     LayerState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, T = pass.batch.tokens();
  const S* weight = parameters + at.qkv_weight;
  const std::size_t before = pass.arena.mark();
  const S* a = normed_copy(pass, T, norm1_of(at), parameters, state.input).y;
  if (state.choice) {
    const S* rows = normed_copy(pass, state.rows, norm1_of(at), parameters, state.query_input).y;
    linear(pass, state.rows, H, H, rows, weight, state.q, H);
    linear(pass, T, 2 * H, H, a, weight + H * H, state.k, 2 * H);
    add_optional_bias(pass, state.rows, H, state.q, parameters, at.qkv_bias);
    add_optional_bias(pass, T, 2 * H, state.k, parameters, at.qkv_bias < 0 ? -1 : at.qkv_bias + H);
  } else {
    linear(pass, T, 3 * H, H, a, weight, state.q, 3 * H);
    add_optional_bias(pass, T, 3 * H, state.q, parameters, at.qkv_bias);
  }
  const bool local = pass.config.pre_norm.is_local(state.number);
  rotate_heads(pass, local, state.choice, Turn::kForward, state.q, state.q_stride);
  rotate_heads<S>(pass, local, nullptr, Turn::kForward, state.k, state.kv_stride);
  pass.arena.release(before);
}

// g [R, I] = dropout(activation(up) * gate); `up` and `gate` get their biases.
template <class S>
void gate_rows(const Pass& pass, const LayerOffsets& at, const S* parameters,
               const LayerState<S>& state, S* g) {
  const std::int64_t I = pass.config.intermediate_size;
  const S scale = static_cast<S>(Dropout(pass.config.pre_norm.feed_forward_dropout).scale());
  const S* bias = bias_or_zeros(pass, parameters, at.up_bias, 2 * I);
  for_rows(pass.pool, state.rows, I, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t from = first * I; from < (first + count) * I; from += I) {  // in the cache
      kernels<S>().activation(pass.config.activation, 1, I, state.up + from, bias, g + from);
      if (at.up_bias >= 0) kernels<S>().add_bias(1, I, state.gate + from, bias + I);
      kernels<S>().multiply(I, state.gate + from, g + from);
      if (!state.down_mask) continue;
      kernels<S>().apply_mask(I, state.down_mask + from, scale, g + from, g + from);
    }
  });
}

template <class S>
void gated_forward(const Pass& pass, const LayerOffsets& at, const S* parameters,
                   LayerState<S>& state) {
  const std::int64_t H = pass.config.hidden_size, I = pass.config.intermediate_size;
  const std::int64_t R = state.rows;
  const std::size_t before = pass.arena.mark();
  const S* m = normed_copy(pass, R, norm2_of(at), parameters, state.middle).y;
  linear(pass, R, I, H, m, parameters + at.up_weight, state.up, I);
  linear(pass, R, I, H, m, parameters + at.up_weight + I * H, state.gate, I);
  pass.arena.release(before);
  S* g = pass.arena.take<S>(R * I);
  gate_rows(pass, at, parameters, state, g);
  S* sum = at.final_weight >= 0 ? state.normed2 : state.output;
  linear(pass, R, H, I, g, parameters + at.down_weight, sum, H);
  pass.arena.release(before);
  add_optional_bias(pass, R, H, sum, parameters, at.down_bias);
  add_rows(pass, R, state.middle, sum);
  if (at.final_weight >= 0) {
    norm_rows(pass, R, {at.final_weight, at.final_bias}, parameters, sum, state.output,
              state.rstd2);
  }
}

// d_up holds the gradient at the gated rows g; then it is that at `up`, and d_gate that at `gate`.
// Computes g again.
template <class S>
void gate_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state, S* d_up,
                   S* d_gate, S* g, S* gradients) {
  const std::int64_t I = pass.config.intermediate_size;
  const S scale = static_cast<S>(Dropout(pass.config.pre_norm.feed_forward_dropout).scale());
  S* bias_sums = pass.arena.take<S>(2 * I);
  std::fill_n(bias_sums, 2 * I, S(0));
  sum_over_rows<S>(
      pass, state.rows, 2 * I, bias_sums, [&](std::int64_t first, std::int64_t count, S* sums) {
        for (std::int64_t from = first * I; from < (first + count) * I; from += I) {
          const std::uint8_t* mask = state.down_mask ? state.down_mask + from : nullptr;
          S *up = d_up + from, *gate = d_gate + from, *product = g + from;
          if (mask) kernels<S>().apply_mask(I, mask, scale, up, up);
          std::copy_n(up, I, gate);
          kernels<S>().multiply(I, state.gate + from, up);
          kernels<S>().activation_backward(pass.config.activation, 1, I, state.up + from, up, sums,
                                           product);
          kernels<S>().multiply(I, product, gate);
          kernels<S>().multiply(I, state.gate + from, product);
          if (mask) kernels<S>().apply_mask(I, mask, scale, product, product);
          if (at.up_bias >= 0) kernels<S>().column_sums(1, I, gate, sums + I);
        }
      });
  if (at.up_bias >= 0) kernels<S>().add(2 * I, bias_sums, gradients + at.up_bias);
}

// d [R, H]: gradient at y, becomes that at h.
template <class S>
void gated_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                    const S* parameters, S* d, S* gradients, const GradientsDone& done) {
  const std::int64_t H = pass.config.hidden_size, I = pass.config.intermediate_size;
  const std::int64_t R = state.rows;
  const std::size_t before = pass.arena.mark();
  S* d_up = pass.arena.take<S>(R * I);
  S* d_gate = pass.arena.take<S>(R * I);
  const std::size_t gated = pass.arena.mark();
  S* g = pass.arena.take<S>(R * I);
  linear_dx(pass, R, H, I, {d, H}, parameters + at.down_weight, S(0), d_up);
  gate_backward(pass, at, state, d_up, d_gate, g, gradients);
  linear_dw(pass, R, H, I, d, H, g, gradients + at.down_weight);
  optional_bias_gradient(pass, R, H, d, gradients, at.down_bias);
  done(at.down_weight);
  pass.arena.release(gated);
  const NormedRows<S> m = normed_copy(pass, R, norm2_of(at), parameters, state.middle);
  linear_dw(pass, R, I, H, d_up, I, m.y, gradients + at.up_weight);
  linear_dw(pass, R, I, H, d_gate, I, m.y, gradients + at.up_weight + I * H);
  done(at.up_weight);
  S* dm = pass.arena.take<S>(R * H);
  linear_dx(pass, R, I, H, {d_up, I}, parameters + at.up_weight, S(0), dm);
  linear_dx(pass, R, I, H, {d_gate, I}, parameters + at.up_weight + I * H, S(1), dm);
  norm_rows_backward<S>(pass, R, norm2_of(at), parameters, {m.normed, m.rstd}, dm, dm, gradients);
  add_rows(pass, R, dm, d);
  done(at.norm2_weight);
  pass.arena.release(before);
}

template <class S>
struct ProjectedGradients {
  const S *dq, *dkv;
};

// The gradients of the projections' weights, and the gradient at a = norm1(x), [T, H], from those
// at q, k and v, which are not rotated any more.
template <class S>
void projection_gradients(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                          const S* parameters, const ProjectedGradients<S>& d, const S* a, S* da,
                          S* gradients) {
  const S *dq = d.dq, *dkv = d.dkv;
  const std::int64_t H = pass.config.hidden_size, T = pass.batch.tokens(), R = state.rows;
  const S* weight = parameters + at.qkv_weight;
  S* dweight = gradients + at.qkv_weight;
  if (!state.choice) {  // dq is [T, 3H], keys and values included
    linear_dw(pass, T, 3 * H, H, dq, 3 * H, a, dweight);
    optional_bias_gradient(pass, T, 3 * H, dq, gradients, at.qkv_bias);
    linear_dx(pass, T, 3 * H, H, {dq, 3 * H}, weight, S(0), da);
    return;
  }
  const S* rows = normed_copy(pass, R, norm1_of(at), parameters, state.query_input).y;
  linear_dw(pass, R, H, H, dq, H, rows, dweight);
  linear_dw(pass, T, 2 * H, H, dkv, 2 * H, a, dweight + H * H);
  optional_bias_gradient(pass, R, H, dq, gradients, at.qkv_bias);
  optional_bias_gradient(pass, T, 2 * H, dkv, gradients, at.qkv_bias < 0 ? -1 : at.qkv_bias + H);
  linear_dx(pass, T, 2 * H, H, {dkv, 2 * H}, weight + H * H, S(0), da);
  S* drows = pass.arena.take<S>(R * H);
  linear_dx(pass, R, H, H, {dq, H}, weight, S(0), drows);
  for (std::int64_t row = 0; row < R; ++row) {
    const std::int64_t token = state.choice->tokens[static_cast<std::size_t>(row)];
    kernels<S>().add(H, drows + row * H, da + token * H);
  }
}

// d [R, H]: gradient at h, becomes that at x, [T, H].
template <class S>
void attention_part_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                             const S* parameters, const S* dcontext, S* d, S* gradients) {
  const std::int64_t H = pass.config.hidden_size, T = pass.batch.tokens(), R = state.rows;
  const bool local = pass.config.pre_norm.is_local(state.number);
  const std::int64_t window = window_of(pass, state.number);
  S* dq = pass.arena.take<S>(state.choice ? R * H : T * 3 * H);
  S* dkv = state.choice ? pass.arena.take<S>(T * 2 * H) : dq + H;
  const std::int64_t q_stride = state.q_stride, kv_stride = state.kv_stride;
  window_attention_backward<S>(pass, window, state, dcontext,
                               {dq, q_stride, dkv, dkv + H, kv_stride});
  rotate_heads(pass, local, state.choice, Turn::kBack, dq, q_stride);
  rotate_heads<S>(pass, local, nullptr, Turn::kBack, dkv, kv_stride);
  const NormedRows<S> a = normed_copy(pass, T, norm1_of(at), parameters, state.input);
  S* da = pass.arena.take<S>(T * H);
  projection_gradients(pass, at, state, parameters, {dq, dkv}, a.y, da, gradients);
  if (at.norm1_weight >= 0) {
    norm_rows_backward<S>(pass, T, norm1_of(at), parameters, {a.normed, a.rstd}, da, da, gradients);
  }
  if (!state.choice) return add_rows<S>(pass, T, da, d);
  // The residual branch's gradients are those of R rows.
  for (std::int64_t row = 0; row < R; ++row) {
    const std::int64_t token = state.choice->tokens[static_cast<std::size_t>(row)];
    kernels<S>().add(H, d + row * H, da + token * H);
  }
  copy_rows<S>(pass, T, da, d);
}

}  // namespace

template <class S>
LayerState<S> pre_norm_forward(const Pass& pass, const LayerOffsets& at, int layer,
                               const RowChoice* choice, const S* parameters, const S* input) {
  const std::int64_t H = pass.config.hidden_size;
  LayerState<S> state;
  state.is_lowest = layer == 0;
  state.number = layer;
  state.choice = choice;
  state.input = input;
  state.starts = choice ? choice->starts : pass.batch.starts;
  state.rows = state.starts.back();
  allocate_state(pass, at, state);
  project_rotated(pass, at, parameters, state);
  window_attention_forward<S>(pass, window_of(pass, layer), state);
  linear<S>(pass, state.rows, H, H, state.context, parameters + at.out_weight, state.middle, H);
  add_optional_bias(pass, state.rows, H, state.middle, parameters, at.out_bias);
  const S scale = static_cast<S>(Dropout(pass.config.attention_dropout).scale());
  for_rows(pass.pool, state.rows, H, [&](std::int64_t first, std::int64_t count) {
    S* rows = state.middle + first * H;
    if (state.out_mask) {
      kernels<S>().apply_mask(count * H, state.out_mask + first * H, scale, rows, rows);
    }
    kernels<S>().add(count * H, state.query_input + first * H, rows);
  });
  gated_forward(pass, at, parameters, state);
  return state;
}

template <class S>
void pre_norm_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                       const S* parameters, S* d, S* gradients, const GradientsDone& done) {
  const std::int64_t H = pass.config.hidden_size, R = state.rows;
  const std::size_t before = pass.arena.mark();
  if (at.final_weight >= 0) {
    norm_rows_backward<S>(pass, R, {at.final_weight, at.final_bias}, parameters,
                          {state.normed2, state.rstd2}, d, d, gradients);
    done(at.final_weight);
  }
  gated_backward(pass, at, state, parameters, d, gradients, done);
  const S* dense = d;
  if (state.out_mask) {
    S* dropped = pass.arena.take<S>(R * H);
    const S scale = static_cast<S>(Dropout(pass.config.attention_dropout).scale());
    for_rows(pass.pool, R, H, [&](std::int64_t first, std::int64_t count) {
      const std::int64_t from = first * H;
      kernels<S>().apply_mask(count * H, state.out_mask + from, scale, d + from, dropped + from);
    });
    dense = dropped;
  }
  linear_dw(pass, R, H, H, dense, H, state.context, gradients + at.out_weight);
  optional_bias_gradient(pass, R, H, dense, gradients, at.out_bias);
  done(at.out_weight);
  S* dcontext = pass.arena.take<S>(R * H);
  linear_dx<S>(pass, R, H, H, {dense, H}, parameters + at.out_weight, S(0), dcontext);
  attention_part_backward(pass, at, state, parameters, dcontext, d, gradients);
  done(at.norm1_weight >= 0 ? at.norm1_weight : at.qkv_weight);
  pass.arena.release(before);
}

template LayerState<float> pre_norm_forward<float>(const Pass&, const LayerOffsets&, int,
                                                   const RowChoice*, const float*, const float*);
template LayerState<double> pre_norm_forward<double>(const Pass&, const LayerOffsets&, int,
                                                     const RowChoice*, const double*,
                                                     const double*);
template void pre_norm_backward<float>(const Pass&, const LayerOffsets&, const LayerState<float>&,
                                       const float*, float*, float*, const GradientsDone&);
template void pre_norm_backward<double>(const Pass&, const LayerOffsets&, const LayerState<double>&,
                                        const double*, double*, double*, const GradientsDone&);

}  // namespace dtl::trainer
