#pragma once
// The layers after the encoder, forward and backward, as HeadForm (families/model_family.h) says:
// outputs [R, O] = dropout(a) W^T + w, where a = norm(activation(dropout(h) V^T + v)), perhaps
// without a norm, or a = h without a dense layer. A classifier of texts may read the mean of a
// text's tokens as its row of h. A model that makes embeddings has the layers of embedding_head.h
// instead. One thread calls; the pool does the work. It cannot fail.

#include <cstdint>

#include "trainer/families/task_head.h"
#include "trainer/layers/layer.h"
#include "trainer/model/embedding_head.h"

namespace dtl::trainer {

// Values that forward keeps for backward; R rows (B sequences or T tokens), O outputs each.
template <class S>
struct HeadState {
  std::int64_t rows = 0;                 // R
  std::uint8_t* dense_mask = nullptr;    // [R, H] or null
  const S* input = nullptr;              // [R, H], of the dense layer
  S* dense = nullptr;                    // [R, H], its output with bias; null: no dense layer
  S* pooled = nullptr;                   // [R, H], its activation
  S *normed = nullptr, *rstd = nullptr;  // [R, H], [R]; null: no norm
  std::uint8_t* mask = nullptr;          // [R, H] or null
  const S* dropped = nullptr;            // [R, H], input of the output layer
  S* outputs = nullptr;                  // [R, O]
  EmbeddingState<S> embedding;           // embeddings: this, rows and outputs are all
};

// The rows of outputs for a batch: its sequences or its tokens.
inline std::int64_t output_rows(const ModelConfig& config, const Batch& batch) {
  return outputs_per_token(config) ? batch.tokens() : batch.sequences();
}

// hidden: the last layer's output, [R, H]; [T, H] if rows of texts are pooled from all tokens.
template <class S>
HeadState<S> head_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters,
                          const S* hidden);

// doutputs [R, O] -> gradient at hidden, of its shape. Adds parameter gradients to `gradients`.
template <class S>
const S* head_backward(const Pass& pass, const ParameterLayout& layout, const HeadState<S>& state,
                       const S* parameters, const S* doutputs, S* gradients);

}  // namespace dtl::trainer
