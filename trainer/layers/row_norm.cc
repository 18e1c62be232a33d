#include "trainer/layers/row_norm.h"

#include <algorithm>

namespace dtl::trainer {

template <class S>
const S* bias_or_zeros(const Pass& pass, const S* parameters, std::int64_t offset,
                       std::int64_t count) {
  if (offset >= 0) return parameters + offset;
  S* zeros = pass.arena.take<S>(count);
  std::fill_n(zeros, count, S(0));
  return zeros;
}

template <class S>
S* gradient_or_unused(const Pass& pass, S* gradients, std::int64_t offset, std::int64_t count) {
  if (offset >= 0) return gradients + offset;
  S* unused = pass.arena.take<S>(count);
  std::fill_n(unused, count, S(0));
  return unused;
}

template <class S>
void norm_rows(const Pass& pass, std::int64_t rows, const NormOffsets& at, const S* parameters,
               S* x, S* y, S* rstd) {
  const std::int64_t H = at.width > 0 ? at.width : pass.config.hidden_size;
  const std::size_t before = pass.arena.mark();
  const NormInput<S> input{nullptr,
                           nullptr,
                           S(1),
                           nullptr,
                           parameters + at.weight,
                           bias_or_zeros(pass, parameters, at.bias, H),
                           static_cast<S>(pass.config.layer_norm_eps)};
  for_rows(pass.pool, rows, H, [&](std::int64_t first, std::int64_t count) {
    kernels<S>().norm(count, H, input, x + first * H, y + first * H, rstd + first);
  });
  pass.arena.release(before);
}

template <class S>
void norm_rows_backward(const Pass& pass, std::int64_t rows, const NormOffsets& at,
                        const S* parameters, const RowNorm<S>& kept, const S* dy, S* dx,
                        S* gradients) {
  const std::int64_t H = at.width > 0 ? at.width : pass.config.hidden_size;
  const std::size_t before = pass.arena.mark();
  S* sums = pass.arena.take<S>(3 * H);  // the last third is of a dense bias, which there is not
  std::fill_n(sums, 3 * H, S(0));
  sum_over_rows<S>(pass, rows, 3 * H, sums,
                   [&](std::int64_t first, std::int64_t count, S* partial) {
                     const std::int64_t from = first * H;
                     const NormOutput<S> output{dy + from,         kept.normed + from,
                                                kept.rstd + first, parameters + at.weight,
                                                nullptr,           S(1)};
                     kernels<S>().norm_backward(count, H, output, dx + from, dx + from, partial);
                   });
  kernels<S>().add(H, sums, gradients + at.weight);
  if (at.bias >= 0) kernels<S>().add(H, sums + H, gradients + at.bias);
  pass.arena.release(before);
}

template const float* bias_or_zeros<float>(const Pass&, const float*, std::int64_t, std::int64_t);
template const double* bias_or_zeros<double>(const Pass&, const double*, std::int64_t,
                                             std::int64_t);
template float* gradient_or_unused<float>(const Pass&, float*, std::int64_t, std::int64_t);
template double* gradient_or_unused<double>(const Pass&, double*, std::int64_t, std::int64_t);
template void norm_rows<float>(const Pass&, std::int64_t, const NormOffsets&, const float*, float*,
                               float*, float*);
template void norm_rows<double>(const Pass&, std::int64_t, const NormOffsets&, const double*,
                                double*, double*, double*);
template void norm_rows_backward<float>(const Pass&, std::int64_t, const NormOffsets&, const float*,
                                        const RowNorm<float>&, const float*, float*, float*);
template void norm_rows_backward<double>(const Pass&, std::int64_t, const NormOffsets&,
                                         const double*, const RowNorm<double>&, const double*,
                                         double*, double*);

}  // namespace dtl::trainer
