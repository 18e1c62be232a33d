#pragma once
// The layers after the encoder, forward and backward. A classifier reads each sequence's first
// token: outputs [B, C] = dropout(a) W^T + b with a = tanh(first Wp^T + bp) (BERT's pooler) or a =
// relu(first Wp^T + bp) (DistilBERT's pre_classifier). Question answering reads all tokens: outputs
// [T, 2] = h W^T + b, start and end; DistilBERT first applies dropout to h. One thread calls; the
// pool does the work. It cannot fail.

#include <cstdint>

#include "trainer/model/layer.h"

namespace dtl::trainer {

// Values that forward keeps for backward; R rows (B for a classifier, else T), O outputs each.
template <class S>
struct HeadState {
  std::int64_t rows = 0;         // R
  const S* input = nullptr;      // [R, H]
  S* pooled = nullptr;           // [R, H], a; classifiers only
  std::uint8_t* mask = nullptr;  // [R, H] or null
  const S* dropped = nullptr;    // [R, H], input of the output layer
  S* outputs = nullptr;          // [R, O]
};

// hidden: the last layer's output [R, H].
template <class S>
HeadState<S> head_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters,
                          const S* hidden);

// doutputs [R, O] -> gradient at hidden [R, H]. Adds parameter gradients to `gradients`.
template <class S>
const S* head_backward(const Pass& pass, const ParameterLayout& layout, const HeadState<S>& state,
                       const S* parameters, const S* doutputs, S* gradients);

}  // namespace dtl::trainer
