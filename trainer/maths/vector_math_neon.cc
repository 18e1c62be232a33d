// The vector functions of mathematics that g++ calls in kernels_fast.cc on arm64. Names and calling
// convention follow Arm's vector function ABI: n means Advanced SIMD (NEON), N2 and N4 the number
// of elements. Hidden, so that a newer glibc's do not get in the way.
#include <arm_neon.h>

#include "trainer/maths/polynomials.h"

using dtl::trainer::Polynomials;

#define DTL_VECTOR __attribute__((aarch64_vector_pcs, visibility("hidden")))

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" DTL_VECTOR float32x4_t _ZGVnN4v_expf(float32x4_t x) {
  return Polynomials::exp(x);
}
extern "C" DTL_VECTOR float32x4_t _ZGVnN4v_erff(float32x4_t x) {
  return Polynomials::erf(x);
}
extern "C" DTL_VECTOR float32x2_t _ZGVnN2v_expf(float32x2_t x) {
  return vget_low_f32(Polynomials::exp(vcombine_f32(x, x)));
}
extern "C" DTL_VECTOR float32x2_t _ZGVnN2v_erff(float32x2_t x) {
  return vget_low_f32(Polynomials::erf(vcombine_f32(x, x)));
}
// NOLINTEND(bugprone-reserved-identifier)
