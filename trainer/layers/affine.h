#pragma once
// A dense layer of a head, forward and backward, in float32 at every precision. W is stored [out,
// in], as torch.nn.Linear stores it; a null bias is none. One thread calls; the pool does the work.

#include <cstdint>

#include "trainer/layers/layer.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"

namespace dtl::trainer {

// y [rows, out] = x [rows, in] W^T + b.
template <class S>
void affine(const Pass& pass, std::int64_t rows, std::int64_t out, std::int64_t in, const S* x,
            const S* weight, const S* bias, S* y) {
  matmul<S>(pass.pool, {rows, out, in}, {x, in}, {weight, in, Op::kTranspose}, S(0), {y, out});
  if (bias) kernels<S>().add_bias(rows, out, y, bias);
}

template <class S>
struct AffineTargets {
  S *weight, *bias;
};

// dW += dy^T x, db += column sums of dy; returns dx [rows, in] = dy W, from the arena.
template <class S>
S* affine_backward(const Pass& pass, std::int64_t rows, std::int64_t out, std::int64_t in,
                   const S* dy, const S* x, const S* weight, AffineTargets<S> gradients) {
  matmul<S>(pass.pool, {out, in, rows}, {dy, out, Op::kTranspose}, {x, in}, S(1),
            {gradients.weight, in});
  if (gradients.bias) kernels<S>().column_sums(rows, out, dy, gradients.bias);
  S* dx = pass.arena.take<S>(rows * in);
  matmul<S>(pass.pool, {rows, in, out}, {dy, out}, {weight, in}, S(0), {dx, in});
  return dx;
}

}  // namespace dtl::trainer
