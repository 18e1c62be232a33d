#pragma once
// A slow and simple version of dtring.h's arithmetic, for comparison with ring/arithmetic/reduce.h.
// Compares bits, not values, so the inputs may be anything.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "ring/arithmetic/kernels.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dtl::ring {

// The thread's mode of float arithmetic. kFlushing: denormals are zero. kStrange: that, rounding
// down and a trap for every exception, or on arm64 a single NaN.
#if defined(__x86_64__)
using FloatMode = unsigned;
constexpr FloatMode kFlushing = 0x9fc0, kStrange = 0xa040;
inline FloatMode float_mode() {
  return _mm_getcsr();
}
inline void set_float_mode(FloatMode mode) {
  _mm_setcsr(mode);
}
#elif defined(__aarch64__)
using FloatMode = std::uint64_t;
constexpr FloatMode kFlushing = 1 << 24, kStrange = kFlushing | 2 << 22 | 1 << 25;
inline FloatMode float_mode() {
  FloatMode mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(FloatMode mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
#endif

using Bytes = std::vector<std::byte>;

// The kernels that this machine can run.
std::vector<const Kernels*> all_kernels();

// The float with these bf16 or f16 bits, and the nearest bf16 or f16 of a float.
float widened(Wire wire, std::uint16_t half);
std::uint16_t narrowed(Wire wire, float value);

// count elements with all kinds of values: zeros, NaNs, infinities, denormals, limits.
Bytes random_elements(int dtype, std::size_t count, std::mt19937_64& random);
std::vector<float> random_floats(std::size_t count, std::mt19937_64& random);

// Expected results of combine and divide.
Bytes combined(int dtype, int op, const std::vector<Bytes>& operands);
Bytes divided(int dtype, const Bytes& data, std::uint64_t divisor);

}  // namespace dtl::ring
