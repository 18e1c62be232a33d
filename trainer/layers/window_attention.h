#pragma once
// Attention for long texts: every query attends to the keys at most `window` tokens away. Works on
// blocks of queries and the keys that any of them sees, so time grows with length * window. Keeps
// nothing for backward, which computes the probabilities again: memory does not grow with the
// square of the length. A query of padding that sees no key has a context of 0.
//
// One task per (sequence, head), with its blocks in order. The number of threads and the
// other sequences of a batch change no result and no mask of dropout.

#include <cstdint>
#include <limits>

#include "trainer/layers/layer.h"

namespace dtl::trainer {

constexpr std::int64_t kWholeText = std::numeric_limits<std::int64_t>::max() / 4;  // as a window

// Reads q, k and v of the state; fills context.
template <class S>
void window_attention_forward(const Pass& pass, std::int64_t window, const LayerState<S>& state);
// Where backward writes: dq has the rows of q, dk and dv those of k.
template <class S>
struct AttentionGradients {
  S* dq;
  std::int64_t dq_stride;
  S *dk, *dv;
  std::int64_t dkv_stride;
};

template <class S>
void window_attention_backward(const Pass& pass, std::int64_t window, const LayerState<S>& state,
                               const S* dcontext, const AttentionGradients<S>& to);

// The query-key pairs of one head: the scores that forward computes and uses.
double window_pairs(std::int64_t length, std::int64_t own_length, std::int64_t window);

}  // namespace dtl::trainer
