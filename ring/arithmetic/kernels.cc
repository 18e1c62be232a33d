// Detects the CPU at run time, because one build must run on every machine of a cluster.
#include "ring/arithmetic/kernels.h"

#include <cstring>

#include "ring/arithmetic/kernel_tables.h"

namespace dtl::ring {
namespace {

#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
}

// Everything that kernels_avx512.cc is compiled for: some CPUs only have AVX-512F.
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

const Kernels& best_kernels() {
#if defined(__x86_64__)
  if (has_avx512()) return kAvx512Kernels;
  if (has_avx2()) return kAvx2Kernels;
#elif defined(__aarch64__)
  return kNeonKernels;
#endif
  return kScalarKernels;
}

}  // namespace

const Kernels* kernels_named(const char* name) {
#if defined(__x86_64__)
  if (std::strcmp(name, kAvx512Kernels.name) == 0) return has_avx512() ? &kAvx512Kernels : nullptr;
  if (std::strcmp(name, kAvx2Kernels.name) == 0) return has_avx2() ? &kAvx2Kernels : nullptr;
#elif defined(__aarch64__)
  if (std::strcmp(name, kNeonKernels.name) == 0) return &kNeonKernels;
#endif
  return std::strcmp(name, kScalarKernels.name) == 0 ? &kScalarKernels : nullptr;
}

const Kernels& kernels_or_best(const char* name) {
  const Kernels* named = name != nullptr ? kernels_named(name) : nullptr;
  return named != nullptr ? *named : best_kernels();
}

}  // namespace dtl::ring
