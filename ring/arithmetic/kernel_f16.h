#pragma once
// The hand-written part of the loops over wire elements: binary16 with the CPU's instructions,
// which a vectorizing compiler does not use. They give the same bits as F16 in
// ring/arithmetic/kernel_ops.h, which does the rest of the loop, so results do not depend on where
// the vectors end. Internal linkage (see kernel_loops.h).

#include "ring/arithmetic/kernel_ops.h"
#if defined(__AVX512F__) || defined(__F16C__)
#include <immintrin.h>
#elif defined(DTL_NEON)
#include <arm_neon.h>
#endif

namespace dtl::ring {
namespace {

// Each function processes the first elements and returns how many: none unless specialized.
template <class Format>
struct ByHand {
  template <std::size_t N>
  static std::size_t add(F32::Memory*, const F32::Memory*, const U16::Memory* const (&)[N],
                         std::size_t) {
    return 0;
  }
  static std::size_t narrow(U16::Memory*, const F32::Memory*, std::size_t) { return 0; }
  static std::size_t widen(F32::Memory*, const U16::Memory*, std::size_t) { return 0; }
  static std::size_t round(F32::Memory*, const F32::Memory*, std::size_t) { return 0; }
};

#if defined(__AVX512F__)
#define DTL_F16_BY_HAND
using Floats = __m512;
using Halves = __m256i;
using HalvesMemory = __m256i_u;
inline Floats load(const void* in) {
  return _mm512_loadu_ps(in);
}
inline void store(void* out, Floats value) {
  _mm512_storeu_ps(out, value);
}
inline Floats widen_vector(Halves halves) {
  return _mm512_cvtph_ps(halves);
}
inline Halves narrow_vector(Floats value) {
  return _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
}
inline Floats all_equal(float value) {
  return _mm512_set1_ps(value);
}
#elif defined(__F16C__)
#define DTL_F16_BY_HAND
using Floats = __m256;
using Halves = __m128i;
using HalvesMemory = __m128i_u;
inline Floats load(const void* in) {
  return _mm256_loadu_ps(static_cast<const float*>(in));
}
inline void store(void* out, Floats value) {
  _mm256_storeu_ps(static_cast<float*>(out), value);
}
inline Floats widen_vector(Halves halves) {
  return _mm256_cvtph_ps(halves);
}
inline Halves narrow_vector(Floats value) {
  return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
}
inline Floats all_equal(float value) {
  return _mm256_set1_ps(value);
}
#elif defined(DTL_NEON)
#define DTL_F16_BY_HAND
using Floats = float32x4_t;
using Halves = uint16x4_t;
typedef uint16x4_t HalvesMemory __attribute__((aligned(1), may_alias));
typedef float32x4_t FloatsMemory __attribute__((aligned(1), may_alias));
inline Floats load(const void* in) {
  return *static_cast<const FloatsMemory*>(in);
}
inline void store(void* out, Floats value) {
  *static_cast<FloatsMemory*>(out) = value;
}
inline Floats widen_vector(Halves halves) {
  return vcvt_f32_f16(vreinterpret_f16_u16(halves));
}
inline Halves narrow_vector(Floats value) {
  return vreinterpret_u16_f16(vcvt_f16_f32(value));
}
inline Floats all_equal(float value) {
  return vdupq_n_f32(value);
}
#endif

#if defined(DTL_F16_BY_HAND)
inline Halves load_halves(const void* in) {
  return *static_cast<const HalvesMemory*>(in);
}

template <>
struct ByHand<F16> {
  static constexpr std::size_t kLanes = sizeof(Floats) / sizeof(float);

  template <std::size_t N>
  static std::size_t add(F32::Memory* out, const F32::Memory* first,
                         const U16::Memory* const (&in)[N], std::size_t count) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      Floats value = load(first + i);
      // Vector operators, not fused multiply-adds: the same order and rounding as the plain loop.
      for (std::size_t k = 0; k < N; ++k) value += widen_vector(load_halves(in[k] + i));
      // canonical() of each lane.
      store(out + i, value == value ? value : all_equal(__builtin_nanf("")));
    }
    return i;
  }

  static std::size_t narrow(U16::Memory* out, const F32::Memory* in, std::size_t count) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      *reinterpret_cast<HalvesMemory*>(out + i) = narrow_vector(load(in + i));
    }
    return i;
  }

  static std::size_t widen(F32::Memory* out, const U16::Memory* in, std::size_t count) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) store(out + i, widen_vector(load_halves(in + i)));
    return i;
  }

  static std::size_t round(F32::Memory* out, const F32::Memory* in, std::size_t count) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      store(out + i, widen_vector(narrow_vector(load(in + i))));
    }
    return i;
  }
};
#endif

}  // namespace
}  // namespace dtl::ring
