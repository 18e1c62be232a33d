#include "trainer/gemm.h"

#include <cblas.h>

#include <algorithm>

extern "C" char* openblas_get_corename();  // not in cblas.h

namespace dtl::trainer {
namespace {

// Large enough that packing an operand once per tile costs a few percent, small enough to occupy a
// pool.
constexpr std::int64_t kTileRows = 192;
constexpr std::int64_t kTileCols = 384;

CBLAS_TRANSPOSE blas_op(Op op) {
  return op == Op::kNone ? CblasNoTrans : CblasTrans;
}

template <class S>
const S* at(const Matrix<S>& x, std::int64_t row, std::int64_t col) {
  return x.op == Op::kNone ? x.data + row * x.stride + col : x.data + col * x.stride + row;
}

}  // namespace

template <class S>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, S alpha, Matrix<S> a, Matrix<S> b, S beta,
          S* c, std::int64_t c_stride) {
  if (m == 0 || n == 0) return;
  const auto run = [&](auto* function) {
    function(CblasRowMajor, blas_op(a.op), blas_op(b.op), static_cast<int>(m), static_cast<int>(n),
             static_cast<int>(k), alpha, a.data, static_cast<int>(a.stride), b.data,
             static_cast<int>(b.stride), beta, c, static_cast<int>(c_stride));
  };
  if constexpr (sizeof(S) == sizeof(float)) {
    run(&cblas_sgemm);
  } else {
    run(&cblas_dgemm);
  }
}

template <class S>
void matmul(ThreadPool& pool, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<S> a,
            Matrix<S> b, S beta, S* c, std::int64_t c_stride) {
  if (m == 0 || n == 0) return;
  const std::int64_t row_tiles = (m + kTileRows - 1) / kTileRows;
  const std::int64_t col_tiles = (n + kTileCols - 1) / kTileCols;
  pool.run(row_tiles * col_tiles, 2 * m * n * k, [&](std::int64_t tile, int) {
    const std::int64_t row = tile / col_tiles * kTileRows, col = tile % col_tiles * kTileCols;
    gemm<S>(std::min(kTileRows, m - row), std::min(kTileCols, n - col), k, S(1),
            {at(a, row, 0), a.stride, a.op}, {at(b, 0, col), b.stride, b.op}, beta,
            c + row * c_stride + col, c_stride);
  });
}

void prepare_gemm() {
  openblas_set_num_threads(1);
}

const char* gemm_kernel_name() {
  return openblas_get_corename();
}

template void gemm<float>(std::int64_t, std::int64_t, std::int64_t, float, Matrix<float>,
                          Matrix<float>, float, float*, std::int64_t);
template void gemm<double>(std::int64_t, std::int64_t, std::int64_t, double, Matrix<double>,
                           Matrix<double>, double, double*, std::int64_t);
template void matmul<float>(ThreadPool&, std::int64_t, std::int64_t, std::int64_t, Matrix<float>,
                            Matrix<float>, float, float*, std::int64_t);
template void matmul<double>(ThreadPool&, std::int64_t, std::int64_t, std::int64_t, Matrix<double>,
                             Matrix<double>, double, double*, std::int64_t);

}  // namespace dtl::trainer
