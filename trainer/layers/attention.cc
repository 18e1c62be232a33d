// Multi-head attention with one task per (sequence, head). A head's queries, keys and values are
// columns of the projected matrices, read in place through strides. No two tasks write the same
// elements, so results do not depend on the number of threads.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/layers/layer.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"

namespace dtl::trainer {
namespace {

// Positions in q follow state.starts; in a last layer with a choice of rows, these are fewer.
// Positions in k and v follow batch.starts, which is the same in all other layers.
template <class S>
AttentionHead head_of(const Pass& pass, const LayerState<S>& state, std::int64_t sequence,
                      int number) {
  const auto s = static_cast<std::size_t>(sequence);
  AttentionHead head{};
  head.first_row = state.starts[s];
  head.rows = state.starts[s + 1] - state.starts[s];
  head.first_token = pass.batch.starts[s];
  head.length = pass.batch.own_length(sequence);
  head.padding = pass.batch.length(sequence) - head.length;
  head.width = pass.config.hidden_size / pass.config.heads;
  head.column = number * head.width;
  head.scores = state.score_starts[s] + number * head.rows * head.length;
  head.sequence = sequence;
  head.example = pass.batch.numbers[s];
  head.number = static_cast<std::uint32_t>(number);
  return head;
}

// Runs task(head, thread) for every sequence and head, the longest sequences first: a long one at
// the end would keep one thread busy while the others wait.
template <class S, class Task>
void for_heads(const Pass& pass, const LayerState<S>& state, const Task& task) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(pass.batch.sequences()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return pass.batch.own_length(a) > pass.batch.own_length(b);
  });
  const int heads = pass.config.heads;
  // Each head has two products of [rows, width] and [length, width], with a multiplication and an
  // addition per step. Backward has four, but this number only decides whether to wake the pool.
  std::int64_t operations = 0;
  for (const std::int64_t sequence : order) {
    const auto s = static_cast<std::size_t>(sequence);
    operations += 4 * pass.config.hidden_size * pass.batch.own_length(sequence) *
                  (state.starts[s + 1] - state.starts[s]);
  }
  pass.pool.run(pass.batch.sequences() * heads, operations, [&](std::int64_t index, int thread) {
    const std::int64_t sequence = order[static_cast<std::size_t>(index / heads)];
    task(head_of(pass, state, sequence, static_cast<int>(index % heads)), thread);
  });
}

// 1 / sqrt(D n), where D = H / heads is the width of one head and n the number of products that
// one score is the sum of: 1, or more in DeBERTa.
template <class S>
S score_factor(const Pass& pass) {
  const int products = score_products(pass.config.deberta);
  return static_cast<S>(1.0 / std::sqrt(static_cast<double>(pass.config.hidden_size) /
                                        static_cast<double>(pass.config.heads) * products));
}

// A buffer for one head's scores per thread: `each` elements at thread * each. Sized for the
// largest head, rounded up to 16 elements so that threads never share a cache line.
template <class S>
S* score_scratch(const Pass& pass, const LayerState<S>& state, std::int64_t& each) {
  each = 0;
  for (std::int64_t s = 0; s < pass.batch.sequences(); ++s) {
    const auto i = static_cast<std::size_t>(s);
    each = std::max(each, (state.starts[i + 1] - state.starts[i]) * pass.batch.own_length(s));
  }
  each = (each + 15) / 16 * 16;
  return pass.arena.take<S>(each * pass.pool.size());
}

// Keeps probabilities for backward: rows * own length per head. Padding needs none, because no
// query attends to it.
template <class S>
void allocate_scores(const Pass& pass, bool masked, LayerState<S>& state) {
  std::int64_t total = 0;
  state.score_starts.clear();
  for (std::int64_t s = 0; s < pass.batch.sequences(); ++s) {
    const auto i = static_cast<std::size_t>(s);
    state.score_starts.push_back(total);
    total += (state.starts[i + 1] - state.starts[i]) * pass.batch.own_length(s) * pass.config.heads;
  }
  state.probabilities = pass.arena.take<S>(total);
  state.probability_mask = masked ? pass.arena.take<std::uint8_t>(total) : nullptr;
}

// Backward writes no gradient for keys and values of padding. The products with dK and dV read
// whole matrices, so set those rows to 0. x: a head's first key or value in a gradient of rows
// [tokens, stride].
template <class S>
void clear_padding(const AttentionHead& h, S* x, std::int64_t stride) {
  for (std::int64_t row = h.length; row < h.length + h.padding; ++row) {
    std::fill_n(x + row * stride, h.width, S(0));
  }
}

}  // namespace

template <class S>
void attention_forward(const Pass& pass, int layer, LayerState<S>& state) {
  const Dropout dropout(pass.config.attention_dropout);
  const bool masked = pass.dropout && dropout.active();
  const S scale = static_cast<S>(dropout.scale());
  allocate_scores(pass, masked, state);
  std::int64_t each = 0;
  S* scratch = masked ? score_scratch(pass, state, each) : nullptr;
  const std::int64_t H = pass.config.hidden_size;
  for_heads(pass, state, [&](const AttentionHead& h, int thread) {
    S* p = state.probabilities + h.scores;
    // Without dropout both pointers are equal, which the kernels allow.
    S* dropped = masked ? scratch + thread * each : p;
    std::uint8_t* mask = masked ? state.probability_mask + h.scores : nullptr;
    const S* q = state.q + h.first_row * state.q_stride + h.column;
    const S* k = state.k + h.first_token * state.kv_stride + h.column;
    const S* v = state.v + h.first_token * state.kv_stride + h.column;
    gemm<S>({h.rows, h.length, h.width}, S(1), {q, state.q_stride},
            {k, state.kv_stride, Op::kTranspose}, S(0), {p, h.length}, pass.precision);
    if (state.terms) state.terms->add(pass, state, h, p);
    if (masked) {
      dropout.mask(*pass.dropout, attention_site(layer), h.number, h.example, h.rows * h.length,
                   mask);
    }
    kernels<S>().softmax(h.rows, h.length, score_factor<S>(pass), p, mask, scale, dropped);
    gemm<S>({h.rows, h.width, h.length}, S(1), {dropped, h.length}, {v, state.kv_stride}, S(0),
            {state.context + h.first_row * H + h.column, H}, pass.precision);
  });
}

// With P the probabilities, M the scaled mask, C the context:
// dV = (P M)^T dC;  dP = (dC V^T) M;  dS = P (dP - rowsum(dP P)) / sqrt(D);  dQ = dS K;  dK = dS^T
// Q.
template <class S>
void attention_backward(const Pass& pass, const LayerState<S>& state, const S* dcontext, S* dq,
                        std::int64_t dq_stride, S* dk, S* dv, std::int64_t dkv_stride) {
  const S scale = static_cast<S>(Dropout(pass.config.attention_dropout).scale());
  std::int64_t each = 0;
  S* scratch = score_scratch(pass, state, each);
  const std::int64_t H = pass.config.hidden_size;
  if (state.terms) state.terms->start_backward(pass, state);
  for_heads(pass, state, [&](const AttentionHead& h, int thread) {
    S* work = scratch + thread * each;
    const S* p = state.probabilities + h.scores;
    const std::uint8_t* mask = state.probability_mask ? state.probability_mask + h.scores : nullptr;
    // Forward does not keep the dropped probabilities: a pass over p costs less than the memory.
    const S* dropped = p;
    if (mask) {
      kernels<S>().apply_mask(h.rows * h.length, mask, scale, p, work);
      dropped = work;
    }
    const S* dc = dcontext + h.first_row * H + h.column;
    const S* q = state.q + h.first_row * state.q_stride + h.column;
    const S* k = state.k + h.first_token * state.kv_stride + h.column;
    const S* v = state.v + h.first_token * state.kv_stride + h.column;
    const std::int64_t token = h.first_token * dkv_stride + h.column;
    gemm<S>({h.length, h.width, h.rows}, S(1), {dropped, h.length, Op::kTranspose}, {dc, H}, S(0),
            {dv + token, dkv_stride}, pass.precision);
    gemm<S>({h.rows, h.length, h.width}, S(1), {dc, H}, {v, state.kv_stride, Op::kTranspose}, S(0),
            {work, h.length}, pass.precision);
    kernels<S>().softmax_backward(h.rows, h.length, score_factor<S>(pass), p, mask, scale, work);
    gemm<S>({h.rows, h.width, h.length}, S(1), {work, h.length}, {k, state.kv_stride}, S(0),
            {dq + h.first_row * dq_stride + h.column, dq_stride}, pass.precision);
    gemm<S>({h.length, h.width, h.rows}, S(1), {work, h.length, Op::kTranspose},
            {q, state.q_stride}, S(0), {dk + token, dkv_stride}, pass.precision);
    if (state.terms) {
      state.terms->backward(
          pass, state, h, work,
          {dq + h.first_row * dq_stride + h.column, dq_stride, dk + token, dkv_stride});
    }
    clear_padding(h, dk + token, dkv_stride);
    clear_padding(h, dv + token, dkv_stride);
  });
}

template void attention_forward<float>(const Pass&, int, LayerState<float>&);
template void attention_forward<double>(const Pass&, int, LayerState<double>&);
template void attention_backward<float>(const Pass&, const LayerState<float>&, const float*, float*,
                                        std::int64_t, float*, float*, std::int64_t);
template void attention_backward<double>(const Pass&, const LayerState<double>&, const double*,
                                         double*, std::int64_t, double*, double*, std::int64_t);

}  // namespace dtl::trainer
