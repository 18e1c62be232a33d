#pragma once
// What comes before the encoder's layers: x = dropout(norm(word + position + type)), [T, E], and,
// where E is not H, the projection to [T, H]. A family may have no positions or types. One thread
// calls; the pool does the work. It cannot fail.

#include <cstdint>
#include <vector>

#include "trainer/layers/layer.h"

namespace dtl::trainer {

// Values that forward keeps for backward.
template <class S>
struct InputState {
  std::vector<std::int32_t> positions = {};  // [T], rows of the table
  S *normed = nullptr, *rstd = nullptr;      // [T, E], [T]
  std::uint8_t* mask = nullptr;              // [T, E] or null
  const S* embedded = nullptr;               // [T, E]
  const S* output = nullptr;                 // [T, H]
};

template <class S>
InputState<S> input_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters);

// doutput [T, H]: the gradient at the output. Adds parameter gradients to `gradients`.
template <class S>
void input_backward(const Pass& pass, const ParameterLayout& layout, const InputState<S>& state,
                    const S* parameters, const S* doutput, S* gradients);

}  // namespace dtl::trainer
