#pragma once
// The layers behind the encoder, forward and backward. A classifier reads the first token of each
// sequence: outputs [B, C] = dropout(a) W^T + b with a = tanh(first Wp^T + bp) (BERT's pooler) or
// a = relu(first Wp^T + bp) (DistilBERT's pre_classifier). A model that finds answers reads all
// tokens: outputs [T, 2] = h W^T + b, start and end; DistilBERT drops out of h before.
// One thread calls; the pool does the work. No failures of its own.

#include <cstdint>

#include "trainer/model/layer.h"

namespace dtl::trainer {

// What forward leaves for backward; R rows (B of a classifier, else T), O outputs for each.
template <class S>
struct HeadState {
  std::int64_t rows = 0;         // R
  const S* input = nullptr;      // [R, H]
  S* pooled = nullptr;           // [R, H], a; classifiers only
  std::uint8_t* mask = nullptr;  // [R, H] or null
  const S* dropped = nullptr;    // [R, H], what the output layer reads
  S* outputs = nullptr;          // [R, O]
};

// hidden: what the last layer computed [R, H].
template <class S>
HeadState<S> head_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters,
                          const S* hidden);

// doutputs [R, O] -> gradient at hidden [R, H]; parameter gradients are added to `gradients`.
template <class S>
const S* head_backward(const Pass& pass, const ParameterLayout& layout, const HeadState<S>& state,
                       const S* parameters, const S* doutputs, S* gradients);

}  // namespace dtl::trainer
