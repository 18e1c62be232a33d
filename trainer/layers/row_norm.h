#pragma once
// A layer norm over rows [R, width], forward and backward, with or without a bias:
//   y = gamma (x - mean) / sqrt(variance + epsilon) + beta
// One thread calls; the pool does the work. It cannot fail.

#include <cstdint>

#include "trainer/layers/layer.h"

namespace dtl::trainer {

// Places in the parameters; bias -1: none. width: of the rows; 0: H.
struct NormOffsets {
  std::int64_t weight = -1, bias = -1;
  std::int64_t width = 0;
};

// The bias at an offset, or zeros [count] from the arena if it is -1.
template <class S>
const S* bias_or_zeros(const Pass& pass, const S* parameters, std::int64_t offset,
                       std::int64_t count);

// The gradient of a bias, or memory from the arena whose sums nobody needs.
template <class S>
S* gradient_or_unused(const Pass& pass, S* gradients, std::int64_t offset, std::int64_t count);

// x becomes the normalised rows, without gamma and beta; rstd [R].
template <class S>
void norm_rows(const Pass& pass, std::int64_t rows, const NormOffsets& at, const S* parameters,
               S* x, S* y, S* rstd);

// What norm_rows left for backward.
template <class S>
struct RowNorm {
  const S *normed, *rstd;
};

// dy -> gradient at x, dx, which may be dy. Adds the parameters' gradients to `gradients`. Takes
// memory from the arena, and gives it back.
template <class S>
void norm_rows_backward(const Pass& pass, std::int64_t rows, const NormOffsets& at,
                        const S* parameters, const RowNorm<S>& kept, const S* dy, S* dx,
                        S* gradients);

}  // namespace dtl::trainer
