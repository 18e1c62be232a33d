#pragma once
// Matrix products on row-major matrices: C = alpha * op(A) * op(B) + beta * C, where op(A) is [m,
// k] and op(B) is [k, n]. gemm runs on the calling thread. matmul cuts C into tiles for the pool's
// threads; its result has the same bits for any number of threads. Only gemm.cc uses OpenBLAS.
//
// Mixed precision: Precision::kBf16 rounds the operands of float products to bf16 (bf16.h) and adds
// in float; alpha must be 1 and beta 0 or 1. Products of doubles ignore it.

#include <cstdint>

#include "base/library.h"
#include "trainer/maths/thread_pool.h"

namespace dtl::trainer {

enum class Op { kNone, kTranspose };

enum class Precision {
  kFloat32,
  kBf16,          // by the CPU's bf16 instructions; needs bf16_support()
  kBf16Emulated,  // same arithmetic by rounding operands in float; any CPU, for tests
};

template <class S>
struct Matrix {
  const S* data;
  std::int64_t stride;  // elements from one stored row to the next
  Op op = Op::kNone;
};

// Names as in BLAS: C is [m, n], sums run over k.
struct ProductSize {
  std::int64_t m, n, k;
};

// The memory of C [m, n].
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

// Call once before the first product. Makes OpenBLAS use one thread per call.
void prepare_gemm();
// OpenBLAS's name for its kernels on this CPU, e.g. "SkylakeX".
const char* gemm_kernel_name();

Library openblas_library();  // for --version -v

}  // namespace dtl::trainer
