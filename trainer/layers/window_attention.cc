#include "trainer/layers/window_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"

namespace dtl::trainer {
namespace {

// Queries of a block. A local block's keys are the block and a window on each side, so a smaller
// block wastes fewer products, and a larger one makes them faster.
constexpr std::int64_t kLocalRows = 64, kGlobalRows = 128;

// One head's queries [rows, width] and keys [length, width].
struct HeadPart {
  std::int64_t first_row, rows;      // of q
  std::int64_t first_token, length;  // of k and v, without padding
  std::int64_t padding;              // tokens after them
  std::int64_t column, width;        // of H
  std::uint32_t example, number;
  std::int64_t window;
};

// Consecutive queries of a head, and the keys that one of them sees or more.
struct QueryBlock {
  std::int64_t number;
  std::int64_t first_row, rows;  // of the head's queries
  std::int64_t first_key, keys;  // of the head's keys
  bool whole;                    // every query sees all these keys
  std::int64_t pairs() const { return rows * keys; }
};

template <class S>
HeadPart head_part(const Pass& pass, const LayerState<S>& state, std::int64_t window,
                   std::int64_t sequence, int number) {
  const auto s = static_cast<std::size_t>(sequence);
  HeadPart head{};
  head.first_row = state.starts[s];
  head.rows = state.starts[s + 1] - state.starts[s];
  head.first_token = pass.batch.starts[s];
  head.length = pass.batch.own_length(sequence);
  head.padding = pass.batch.length(sequence) - head.length;
  head.width = pass.config.hidden_size / pass.config.heads;
  head.column = number * head.width;
  head.example = pass.batch.numbers[s];
  head.number = static_cast<std::uint32_t>(number);
  // A window that reaches everywhere is none.
  head.window = pass.batch.length(sequence) - 1 <= window ? kWholeText : window;
  return head;
}

// The position of one of the head's queries in its sequence.
template <class S>
std::int64_t position_of(const LayerState<S>& state, const HeadPart& head, std::int64_t row) {
  if (!state.choice) return row;
  return state.choice->tokens[static_cast<std::size_t>(head.first_row + row)] - head.first_token;
}

// Calls task(block) for the blocks of a head, in order. With a window, chosen queries far from each
// other are in different blocks.
template <class S, class Task>
void for_blocks(const LayerState<S>& state, const HeadPart& head, const Task& task) {
  const bool whole = head.window == kWholeText;
  std::int64_t number = 0;
  for (std::int64_t row = 0; row < head.rows; ++number) {
    const std::int64_t first = position_of(state, head, row);
    std::int64_t end = row, last = first;
    while (end < head.rows && end - row < (whole ? kGlobalRows : kLocalRows)) {
      const std::int64_t position = position_of(state, head, end);
      if (!whole && position - first >= kLocalRows) break;
      last = position;
      ++end;
    }
    const std::int64_t begin_key = std::max<std::int64_t>(0, first - head.window);
    const std::int64_t end_key = std::min(head.length, last + head.window + 1);
    task(QueryBlock{number, row, end - row, begin_key,
                    std::max<std::int64_t>(0, end_key - begin_key), whole});
    row = end;
  }
}

// Runs task(head, thread) for every sequence and head, the longest sequences first: a long one at
// the end would keep one thread busy while the others wait.
template <class S, class Task>
void for_head_parts(const Pass& pass, std::int64_t window, const LayerState<S>& state,
                    const Task& task) {
  const std::int64_t sequences = pass.batch.sequences();
  const int heads = pass.config.heads;
  std::vector<std::int64_t> order(static_cast<std::size_t>(sequences));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return pass.batch.own_length(a) > pass.batch.own_length(b);
  });
  std::int64_t operations = 0;  // decides only whether to wake the pool
  for (std::int64_t s = 0; s < sequences; ++s) {
    const auto i = static_cast<std::size_t>(s);
    operations += 4 * pass.config.hidden_size * (state.starts[i + 1] - state.starts[i]) *
                  std::min(pass.batch.own_length(s), window);
  }
  pass.pool.run(sequences * heads, operations, [&](std::int64_t index, int thread) {
    task(head_part(pass, state, window, order[static_cast<std::size_t>(index / heads)],
                   static_cast<int>(index % heads)),
         thread);
  });
}

// Buffers of one thread, each for the largest block: room for one more is 16 elements, so that
// threads never share a cache line.
template <class S>
class BlockScratch {
 public:
  BlockScratch(const Pass& pass, std::int64_t window, const LayerState<S>& state, int buffers,
               bool masked)
      : buffers_(buffers) {
    for (std::int64_t s = 0; s < pass.batch.sequences(); ++s) {
      for_blocks(state, head_part(pass, state, window, s, 0),
                 [&](const QueryBlock& block) { each_ = std::max(each_, block.pairs()); });
    }
    each_ = (each_ + 63) / 64 * 64;
    values_ = pass.arena.take<S>(each_ * buffers * pass.pool.size());
    if (masked) mask_ = pass.arena.take<std::uint8_t>(each_ * pass.pool.size());
  }
  S* values(int thread, int buffer) const { return values_ + (thread * buffers_ + buffer) * each_; }
  std::uint8_t* mask(int thread) const { return mask_ ? mask_ + thread * each_ : nullptr; }

 private:
  std::int64_t each_ = 0;
  int buffers_;
  S* values_ = nullptr;
  std::uint8_t* mask_ = nullptr;
};

template <class S>
S width_factor(const HeadPart& head) {
  return static_cast<S>(1.0 / std::sqrt(static_cast<double>(head.width)));
}

// Softmax of each row over the keys that its query sees; the others get 0.
template <class S>
void window_softmax(const LayerState<S>& state, const HeadPart& head, const QueryBlock& block,
                    S* scores) {
  const S factor = width_factor<S>(head);
  if (block.whole) {
    kernels<S>().softmax(block.rows, block.keys, factor, scores, nullptr, S(1), scores);
    return;
  }
  for (std::int64_t row = 0; row < block.rows; ++row) {
    S* s = scores + row * block.keys;
    const std::int64_t position = position_of(state, head, block.first_row + row);
    const std::int64_t begin =
        std::clamp<std::int64_t>(position - head.window - block.first_key, 0, block.keys);
    const std::int64_t end =
        std::clamp<std::int64_t>(position + head.window + 1 - block.first_key, begin, block.keys);
    std::fill(s, s + begin, S(0));
    std::fill(s + end, s + block.keys, S(0));
    if (begin < end) {
      kernels<S>().softmax(1, end - begin, factor, s + begin, nullptr, S(1), s + begin);
    }
  }
}

// p [rows, keys] of a block. Fills the mask, if there is one.
template <class S>
void block_probabilities(const Pass& pass, const LayerState<S>& state, const HeadPart& head,
                         const QueryBlock& block, S* p, std::uint8_t* mask) {
  const S* q = state.q + (head.first_row + block.first_row) * state.q_stride + head.column;
  const S* k = state.k + (head.first_token + block.first_key) * state.kv_stride + head.column;
  gemm<S>({block.rows, block.keys, head.width}, S(1), {q, state.q_stride},
          {k, state.kv_stride, Op::kTranspose}, S(0), {p, block.keys}, pass.precision);
  window_softmax(state, head, block, p);
  if (mask == nullptr) return;
  // A stream for each block: with one block, the elements are those of attention.cc.
  const auto part = head.number + static_cast<std::uint32_t>(block.number * pass.config.heads);
  Dropout(pass.config.attention_dropout)
      .mask(*pass.dropout, attention_site(state.number), part, head.example, block.pairs(), mask);
}

template <class S>
void clear_rows(std::int64_t rows, std::int64_t width, S* x, std::int64_t stride) {
  for (std::int64_t row = 0; row < rows; ++row) std::fill_n(x + row * stride, width, S(0));
}

bool drops_probabilities(const Pass& pass) {
  return pass.dropout && Dropout(pass.config.attention_dropout).active();
}

}  // namespace

template <class S>
void window_attention_forward(const Pass& pass, std::int64_t window, const LayerState<S>& state) {
  const std::int64_t H = pass.config.hidden_size;
  const S scale = static_cast<S>(Dropout(pass.config.attention_dropout).scale());
  const std::size_t before = pass.arena.mark();
  const BlockScratch<S> scratch(pass, window, state, 1, drops_probabilities(pass));
  for_head_parts(pass, window, state, [&](const HeadPart& head, int thread) {
    S* p = scratch.values(thread, 0);
    std::uint8_t* mask = scratch.mask(thread);
    for_blocks(state, head, [&](const QueryBlock& block) {
      S* context = state.context + (head.first_row + block.first_row) * H + head.column;
      if (block.keys == 0) return clear_rows(block.rows, head.width, context, H);
      block_probabilities(pass, state, head, block, p, mask);
      if (mask) kernels<S>().apply_mask(block.pairs(), mask, scale, p, p);
      const S* v = state.v + (head.first_token + block.first_key) * state.kv_stride + head.column;
      gemm<S>({block.rows, head.width, block.keys}, S(1), {p, block.keys}, {v, state.kv_stride},
              S(0), {context, H}, pass.precision);
    });
  });
  pass.arena.release(before);
}

// As attention_backward, block by block; the blocks' keys overlap, so their gradients add up.
template <class S>
void window_attention_backward(const Pass& pass, std::int64_t window, const LayerState<S>& state,
                               const S* dcontext, const AttentionGradients<S>& to) {
  const std::int64_t dq_stride = to.dq_stride, dkv_stride = to.dkv_stride;
  const std::int64_t H = pass.config.hidden_size;
  const S scale = static_cast<S>(Dropout(pass.config.attention_dropout).scale());
  const std::size_t before = pass.arena.mark();
  const BlockScratch<S> scratch(pass, window, state, 2, drops_probabilities(pass));
  for_head_parts(pass, window, state, [&](const HeadPart& head, int thread) {
    S *p = scratch.values(thread, 0), *work = scratch.values(thread, 1);
    std::uint8_t* mask = scratch.mask(thread);
    const std::int64_t token = head.first_token * dkv_stride + head.column;
    clear_rows(head.length + head.padding, head.width, to.dk + token, dkv_stride);
    clear_rows(head.length + head.padding, head.width, to.dv + token, dkv_stride);
    for_blocks(state, head, [&](const QueryBlock& block) {
      const std::int64_t row = head.first_row + block.first_row;
      const std::int64_t key = head.first_token + block.first_key;
      S* dquery = to.dq + row * dq_stride + head.column;
      if (block.keys == 0) return clear_rows(block.rows, head.width, dquery, dq_stride);
      block_probabilities(pass, state, head, block, p, mask);
      const S* dropped = p;
      if (mask) {
        kernels<S>().apply_mask(block.pairs(), mask, scale, p, work);
        dropped = work;
      }
      const S* dc = dcontext + row * H + head.column;
      const S* q = state.q + row * state.q_stride + head.column;
      const S* k = state.k + key * state.kv_stride + head.column;
      const S* v = state.v + key * state.kv_stride + head.column;
      const std::int64_t place = key * dkv_stride + head.column;
      gemm<S>({block.keys, head.width, block.rows}, S(1), {dropped, block.keys, Op::kTranspose},
              {dc, H}, S(1), {to.dv + place, dkv_stride}, pass.precision);
      gemm<S>({block.rows, block.keys, head.width}, S(1), {dc, H},
              {v, state.kv_stride, Op::kTranspose}, S(0), {work, block.keys}, pass.precision);
      kernels<S>().softmax_backward(block.rows, block.keys, width_factor<S>(head), p, mask, scale,
                                    work);
      gemm<S>({block.rows, head.width, block.keys}, S(1), {work, block.keys}, {k, state.kv_stride},
              S(0), {dquery, dq_stride}, pass.precision);
      gemm<S>({block.keys, head.width, block.rows}, S(1), {work, block.keys, Op::kTranspose},
              {q, state.q_stride}, S(1), {to.dk + place, dkv_stride}, pass.precision);
    });
  });
  pass.arena.release(before);
}

double window_pairs(std::int64_t length, std::int64_t own_length, std::int64_t window) {
  double pairs = 0;
  for (std::int64_t query = 0; query < length; ++query) {
    const std::int64_t begin = std::max<std::int64_t>(0, query - window);
    const std::int64_t end = std::min(own_length, query + window + 1);
    pairs += static_cast<double>(std::max<std::int64_t>(0, end - begin));
  }
  return pairs;
}

template void window_attention_forward<float>(const Pass&, std::int64_t, const LayerState<float>&);
template void window_attention_forward<double>(const Pass&, std::int64_t,
                                               const LayerState<double>&);
template void window_attention_backward<float>(const Pass&, std::int64_t, const LayerState<float>&,
                                               const float*, const AttentionGradients<float>&);
template void window_attention_backward<double>(const Pass&, std::int64_t,
                                                const LayerState<double>&, const double*,
                                                const AttentionGradients<double>&);

}  // namespace dtl::trainer
