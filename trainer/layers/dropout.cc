// Packs everything that a mask depends on into Philox's key and counter (maths/kernels_exact.cc).
// Changing this changes every run with dropout: checkpoints would not resume with the same bits.
#include "trainer/layers/dropout.h"

#include <algorithm>
#include <cmath>

#include "trainer/maths/kernels.h"

namespace dtl::trainer {

Dropout::Dropout(double probability)
    // At least 1: scale() divides by it, and a probability of 1 would give infinity.
    : threshold_(static_cast<std::uint32_t>(
          std::clamp(std::lround((1.0 - probability) * 65536.0), 1L, 65536L))) {}

void Dropout::mask(const DropoutKey& key, std::uint32_t site, std::uint32_t part,
                   std::uint32_t example, std::int64_t count, std::uint8_t* out) const {
  const std::uint64_t seed = key.seed * 0x9E3779B97F4A7C15;  // spreads small seeds
  // Uses only the low half of the step. In stream[1], the low 16 bits hold the site and the high 16
  // bits the head.
  const std::uint32_t philox_key[2] = {static_cast<std::uint32_t>(seed >> 32),
                                       static_cast<std::uint32_t>(key.step)};
  const std::uint32_t stream[3] = {example, (part << 16) | site, static_cast<std::uint32_t>(seed)};
  optimizer_kernels().dropout_mask(count, threshold_, philox_key, stream, out);
}

}  // namespace dtl::trainer
