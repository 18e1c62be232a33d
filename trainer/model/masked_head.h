#pragma once
// The head of a masked language model, for the masked tokens only: with hidden rows h [M, H],
//   n = norm(activation(h Wt^T + bt)),   logits [M, V] = n D^T + b,
// with or without the biases bt and b and that of the norm, where D are the word embeddings (tied),
// [V, E]. The loss is the cross entropy of each original token. One thread calls; the pool does the
// work. It cannot fail.

#include <cstdint>

#include "trainer/layers/layer.h"

namespace dtl::trainer {

// Values that forward keeps for backward.
template <class S>
struct MaskedHeadState {
  std::int64_t rows = 0;                 // M
  const S* input = nullptr;              // [M, H]
  S* dense = nullptr;                    // [M, E], with its bias
  S *normed = nullptr, *rstd = nullptr;  // [M, E], [M]
  S* words = nullptr;                    // [M, E], n
  S* logits = nullptr;                   // [M, V]; after losses(): their softmax
};

template <class S>
MaskedHeadState<S> masked_head_forward(const Pass& pass, const ParameterLayout& layout,
                                       const S* parameters, const S* hidden);

// Turns the logits into probabilities. Returns the sum of the cross entropies of the batch's
// originals. outputs, if not null: [T, 2], zero but in the rows of masked tokens, which get their
// loss, and 2 if the original is the most probable token, else 1.
template <class S>
double masked_losses(const Pass& pass, MaskedHeadState<S>& state, S* outputs);

// After masked_losses(). Adds the gradients of weight times that sum to `gradients`, those of all
// word embeddings too; returns the gradient at hidden, [M, H].
template <class S>
S* masked_head_backward(const Pass& pass, const ParameterLayout& layout,
                        const MaskedHeadState<S>& state, const S* parameters, S weight,
                        S* gradients);

}  // namespace dtl::trainer
