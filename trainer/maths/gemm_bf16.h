#pragma once
// Products of bf16 matrices with float sums, by oneDNN on CPUs with AVX512_BF16 or AMX. oneDNN is
// loaded on first use, not linked: dttrain must run on machines with only a libc, and most runs do
// not need this 40 MB library (with OpenCL and OpenMP). Every call computes on the calling thread.

#include <cstdint>
#include <string>

#include "base/library.h"
#include "trainer/maths/bf16.h"
#include "trainer/maths/gemm.h"

namespace dtl::trainer {

struct Bf16Support {
  bool available = false;
  std::string name;    // of the instructions: "avx512_bf16" or "amx_bf16"
  std::string reason;  // why it is not available, and what would help
};

// Loads oneDNN if the CPU has the instructions. Any thread; the first call takes milliseconds.
const Bf16Support& bf16_support();

// c [m, n] = op(a) [m, k] * op(b) [k, n], added to c if `accumulate`; all row-major. Requires
// bf16_support(). Asserts that oneDNN succeeds.
void gemm_bf16(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<Bf16> a, Matrix<Bf16> b,
               bool accumulate, float* c, std::int64_t c_stride);

Library onednn_library();  // for --version -v; calls bf16_support() first

}  // namespace dtl::trainer
