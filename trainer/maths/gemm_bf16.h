#pragma once
// Products of bf16 matrices with float sums, by oneDNN on CPUs with AVX512_BF16 or AMX. oneDNN is
// loaded when it is first asked for, not linked: dttrain travels to machines that have nothing but
// a libc, and starts no slower for a library of 40 MB (with OpenCL and OpenMP behind it) that most
// runs never use. Every call computes on the calling thread alone.

#include <cstdint>
#include <string>

#include "base/library.h"
#include "trainer/maths/bf16.h"
#include "trainer/maths/gemm.h"

namespace dtl::trainer {

struct Bf16Support {
  bool available = false;
  std::string name;    // of the instructions: "avx512_bf16" or "amx_bf16"
  std::string reason;  // why not, and what would help
};

// Loads oneDNN where the CPU has the instructions. Any thread; the first call takes milliseconds.
const Bf16Support& bf16_support();

// c [m, n] = op(a) [m, k] * op(b) [k, n], added to c where `accumulate`; all row-major. Only where
// bf16_support() says so. Throws Error(kInternal) where oneDNN refuses.
void gemm_bf16(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<Bf16> a, Matrix<Bf16> b,
               bool accumulate, float* c, std::int64_t c_stride);

Library onednn_library();  // for --version -v; asks bf16_support() first

}  // namespace dtl::trainer
