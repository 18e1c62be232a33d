#pragma once
// Matrix products on row-major matrices: C = alpha * op(A) * op(B) + beta * C, op(A) is [m, k],
// op(B) is [k, n]. gemm runs on the calling thread; matmul cuts C into tiles for the pool's
// threads, in such a way that its result has the same bits for any number of them. The only file
// that knows OpenBLAS.
//
// Mixed precision: with Precision::kBf16 the operands of float products are rounded to bf16 first
// (bf16.h) and the sums are float's; alpha must be 1 and beta 0 or 1. Double ignores it.

#include <cstdint>

#include "base/library.h"
#include "trainer/maths/thread_pool.h"

namespace dtl::trainer {

enum class Op { kNone, kTranspose };

enum class Precision {
  kFloat32,
  kBf16,          // by the CPU's bf16 instructions: only where bf16_support() says so
  kBf16Emulated,  // the same arithmetic by rounding the operands in float: anywhere, for tests
};

template <class S>
struct Matrix {
  const S* data;
  std::int64_t stride;  // elements from one stored row to the next
  Op op = Op::kNone;
};

// As BLAS names them: C is [m, n], k is what is summed over.
struct ProductSize {
  std::int64_t m, n, k;
};

// Where C [m, n] is.
template <class S>
struct Target {
  S* data;
  std::int64_t stride;
};

template <class S>
void gemm(ProductSize size, S alpha, Matrix<S> a, Matrix<S> b, S beta, Target<S> c,
          Precision precision = Precision::kFloat32);

template <class S>
void matmul(ThreadPool& pool, ProductSize size, Matrix<S> a, Matrix<S> b, S beta, Target<S> c,
            Precision precision = Precision::kFloat32);

// Once, before the first product: one thread per call.
void prepare_gemm();
// OpenBLAS's name for the kernels in use, e.g. "SkylakeX".
const char* gemm_kernel_name();

Library openblas_library();  // for --version -v

}  // namespace dtl::trainer
