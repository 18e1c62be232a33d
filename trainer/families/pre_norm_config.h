#pragma once
// The sizes and numbers of encoders whose layers are pre-norm with rotary positions, local
// attention and gated feed-forward parts. A plain value; the defaults are those of
// ModernBertConfig.

#include <cstdint>
#include <vector>

#include "trainer/maths/activation.h"

namespace dtl::trainer {

struct PreNormConfig {
  // Layers with global attention: numbers 0, n, 2n, ..; or those with 0 in `local`, which
  // has a value for each layer.
  int global_every = 3;
  std::vector<std::int8_t> local = {};
  int local_attention = 128;  // tokens on both sides that a local layer's token attends to
  double global_theta = 160'000, local_theta = 10'000;  // bases of the rotary frequencies
  double feed_forward_dropout = 0;                      // of the gated rows
  Activation head_activation = Activation::kGelu;
  bool attention_bias = false, feed_forward_bias = false, norm_bias = false;
  bool head_bias = false;         // of the head's dense layer
  bool masked_bias = true;        // of a masked language model's output layer
  double initializer_cutoff = 2;  // initial values are at most this many deviations from 0
  bool operator==(const PreNormConfig&) const = default;

  // The farthest of them on each side.
  int local_window() const { return local_attention / 2; }
  bool is_local(int layer) const {
    return local.empty() ? layer % global_every != 0 : local[static_cast<std::size_t>(layer)] != 0;
  }
};

}  // namespace dtl::trainer
