#pragma once
// bf16: the upper half of a float, rounded to nearest, ties to even. NaN stays NaN (quiet);
// infinities and zeros keep their sign; values above the largest finite bf16 become infinite.
// Relative error of a rounded normal number: at most 2^-8 (8 significant bits). Pure functions.

#include <bit>
#include <cstdint>

namespace dtl::trainer {

using Bf16 = std::uint16_t;

constexpr Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<Bf16>(bits >> 16 | 0x40U);
  return static_cast<Bf16>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace dtl::trainer
