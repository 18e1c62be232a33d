#pragma once
// One pre-norm layer with rotary positions and a gated feed-forward part, forward and backward, on
// the flat token matrix:
//   a = norm1(x), or x in the first layer
//   h = dropout(attention(rotated a Wq^T, rotated a Wk^T, a Wv^T) Wo^T) + x
//   m = norm2(h)
//   y = dropout(gelu(m U^T) * (m G^T)) D^T + h,  where U and G are the halves of one tensor
// A last layer has the encoder's final norm after that. Biases are optional. As in layer.h, a last
// layer may compute only chosen rows. Between forward and backward it keeps x, the rotated q, k and
// v, the context, h and the two halves; backward computes norms, probabilities and gelu again.

#include "trainer/layers/layer.h"

namespace dtl::trainer {

// layer_forward() and layer_backward() of layer.h for such layers.
template <class S>
LayerState<S> pre_norm_forward(const Pass& pass, const LayerOffsets& at, int layer,
                               const RowChoice* choice, const S* parameters, const S* input);
template <class S>
void pre_norm_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                       const S* parameters, S* d, S* gradients, const GradientsDone& done);

}  // namespace dtl::trainer
