#pragma once
// The products of a layer's dense parts, in the pass's precision. W is stored [out, in], as
// torch.nn.Linear stores it. One thread calls; the pool does the work.

#include <cstdint>

#include "trainer/layers/layer.h"
#include "trainer/maths/gemm.h"

namespace dtl::trainer {

// y [rows, out] = x [rows, in] W^T.
template <class S>
void linear(const Pass& pass, std::int64_t rows, std::int64_t out, std::int64_t in, const S* x,
            const S* weight, S* y, std::int64_t y_stride) {
  matmul<S>(pass.pool, {rows, out, in}, {x, in}, {weight, in, Op::kTranspose}, S(0), {y, y_stride},
            pass.precision);
}

// dx [rows, in] = beta dx + dy W. beta 1 adds to a gradient from another branch.
template <class S>
void linear_dx(const Pass& pass, std::int64_t rows, std::int64_t out, std::int64_t in, Matrix<S> dy,
               const S* weight, S beta, S* dx) {
  matmul<S>(pass.pool, {rows, in, out}, dy, {weight, in}, beta, {dx, in}, pass.precision);
}

// dW [out, in] += dy^T x. Adds, because micro-batches accumulate in `gradients`.
template <class S>
void linear_dw(const Pass& pass, std::int64_t rows, std::int64_t out, std::int64_t in, const S* dy,
               std::int64_t dy_stride, const S* x, S* dweight) {
  matmul<S>(pass.pool, {out, in, rows}, {dy, dy_stride, Op::kTranspose}, {x, in}, S(1),
            {dweight, in}, pass.precision);
}

}  // namespace dtl::trainer
