#pragma once
// The head of a model that makes embeddings, forward and backward, as ModelConfig::embedding
// describes it: a text's tokens are pooled to one row, dense layers follow, and perhaps a division
// by the length. Padding is not pooled. Definitions as in sentence-transformers' Pooling, Dense and
// Normalize. One thread calls; the pool does the work. It cannot fail.

#include <cstdint>
#include <vector>

#include "trainer/layers/layer.h"

namespace dtl::trainer {

// Values that forward keeps for backward; B texts, D numbers in each embedding.
template <class S>
struct EmbeddingState {
  std::int32_t* highest = nullptr;  // [B, H], kMax only: the token in its text
  struct Dense {
    const S* input;  // [B, in]
    S *sums, *y;     // [B, out], before and after the activation
  };
  std::vector<Dense> dense;
  double* lengths = nullptr;  // [B], before the division; null without
  S* outputs = nullptr;       // [B, D]
};

// hidden: [T, H], or the first tokens only, [B, H], if kCls pools.
template <class S>
EmbeddingState<S> embedding_forward(const Pass& pass, const ParameterLayout& layout,
                                    const S* parameters, const S* hidden);

// doutputs [B, D] -> gradient at hidden, of its shape. Adds parameter gradients to `gradients`.
template <class S>
const S* embedding_backward(const Pass& pass, const ParameterLayout& layout,
                            const EmbeddingState<S>& state, const S* parameters, const S* doutputs,
                            S* gradients);

}  // namespace dtl::trainer
