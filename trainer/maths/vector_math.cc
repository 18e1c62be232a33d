// The vector functions of mathematics that g++ calls in kernels_fast.cc, from glibc's static
// libmvec: the shared library would need a glibc newer than 2.28 for erf. The archive's functions
// that choose by CPU cannot leave a static program, so these replace them: kernels.cc uses the AVX2
// or AVX-512 level only on such CPUs. Names follow the vector function ABI: b, d and e mean SSE,
// AVX2 and AVX-512.

using F4 = float __attribute__((vector_size(16)));
using D2 = double __attribute__((vector_size(16)));
using F8 = float __attribute__((vector_size(32)));
using D4 = double __attribute__((vector_size(32)));
using F16 = float __attribute__((vector_size(64)));
using D8 = double __attribute__((vector_size(64)));

// NOLINTBEGIN(bugprone-reserved-identifier)
#define DTL_SSE(Vector, name)                                                  \
  extern "C" Vector name##_sse4(Vector);                                       \
  extern "C" Vector name##_sse2(Vector);                                       \
  extern "C" __attribute__((visibility("hidden"))) Vector name(Vector x) {     \
    return __builtin_cpu_supports("sse4.1") ? name##_sse4(x) : name##_sse2(x); \
  }
#define DTL_LEVEL_OF(level, Vector, name, suffix)                                         \
  extern "C" __attribute__((target(level))) Vector name##suffix(Vector);                  \
  extern "C" __attribute__((target(level), visibility("hidden"))) Vector name(Vector x) { \
    return name##suffix(x);                                                               \
  }

DTL_SSE(F4, _ZGVbN4v_erff)
DTL_SSE(F4, _ZGVbN4v_expf)
DTL_SSE(D2, _ZGVbN2v_erf)
DTL_SSE(D2, _ZGVbN2v_exp)
DTL_LEVEL_OF("avx2", F8, _ZGVdN8v_erff, _avx2)
DTL_LEVEL_OF("avx2", F8, _ZGVdN8v_expf, _avx2)
DTL_LEVEL_OF("avx2", D4, _ZGVdN4v_erf, _avx2)
DTL_LEVEL_OF("avx2", D4, _ZGVdN4v_exp, _avx2)
DTL_LEVEL_OF("avx512f", F16, _ZGVeN16v_erff, _skx)
DTL_LEVEL_OF("avx512f", F16, _ZGVeN16v_expf, _skx)
DTL_LEVEL_OF("avx512f", D8, _ZGVeN8v_erf, _skx)
DTL_LEVEL_OF("avx512f", D8, _ZGVeN8v_exp, _skx)
// NOLINTEND(bugprone-reserved-identifier)
