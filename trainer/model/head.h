#pragma once
// The layers after the encoder, forward and backward, as files/task_head.h describes them: outputs
// [R, O] = dropout(a) W^T + b. If the head pools, a = tanh(h Wp^T + bp) (BERT's pooler) or a =
// relu(h Wp^T + bp) (DistilBERT's pre_classifier); otherwise a = h. One thread calls; the pool does
// the work. It cannot fail.

#include <cstdint>

#include "trainer/model/layer.h"

namespace dtl::trainer {

// Values that forward keeps for backward; R rows (B sequences or T tokens), O outputs each.
template <class S>
struct HeadState {
  std::int64_t rows = 0;         // R
  const S* input = nullptr;      // [R, H]
  S* pooled = nullptr;           // [R, H], a; null without a pooler
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
