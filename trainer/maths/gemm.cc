#include "trainer/maths/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <memory>

#include "trainer/maths/gemm_bf16.h"
#include "trainer/maths/kernels.h"

extern "C" char* openblas_get_corename();  // not in cblas.h

namespace dtl::trainer {
namespace {

std::int64_t tiles_of(std::int64_t length, std::int64_t tile) {
  return (length + tile - 1) / tile;
}

CBLAS_TRANSPOSE blas_op(Op op) {
  return op == Op::kNone ? CblasNoTrans : CblasTrans;
}

template <class S>
const S* at(const Matrix<S>& x, std::int64_t row, std::int64_t col) {
  return x.op == Op::kNone ? x.data + row * x.stride + col : x.data + col * x.stride + row;
}

template <class S>
void blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, S alpha, Matrix<S> a, Matrix<S> b,
               S beta, S* c, std::int64_t c_stride) {
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

// [0, size) cut at multiples of `unit` into `parts` pieces of nearly as many units.
struct Cuts {
  std::int64_t size, unit, units, parts;
  std::int64_t begin(std::int64_t part) const {
    return part == parts ? size : part * units / parts * unit;
  }
  std::int64_t length(std::int64_t part) const { return begin(part + 1) - begin(part); }
};

Cuts evenly(std::int64_t size, std::int64_t unit) {
  return {size, unit, tiles_of(size, unit), tiles_of(size, unit)};
}

// Where C is cut into tiles.
struct Tiling {
  Cuts rows, cols;
  std::int64_t tiles() const { return rows.parts * cols.parts; }
};

constexpr std::int64_t kColUnit = 384, kRowUnit = 192;

// For results that depend on the cuts: only sizes decide. As high as leaves enough for a pool.
Tiling tiling_by_size(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kEnoughTiles = 16;
  const Tiling high{evenly(m, 2 * kRowUnit), evenly(n, kColUnit)};
  return high.tiles() >= kEnoughTiles ? high : Tiling{evenly(m, kRowUnit), high.cols};
}

// How much longer than its share of the multiplications the busiest thread takes. Every tile packs
// its part of both operands once more. Packing an element of either takes as long as kPacking
// multiplications with it (AVX-512): tiles of 384 x 384 take 12% longer for it.
double cost(const Tiling& tiling, std::int64_t threads) {
  constexpr double kPacking = 23;
  const auto rows = static_cast<double>(tiling.rows.size) / static_cast<double>(tiling.rows.parts);
  const std::int64_t rounds = tiles_of(tiling.tiles(), threads);
  return static_cast<double>(rounds * threads) / static_cast<double>(tiling.tiles()) *
         (1 + kPacking / rows + kPacking / static_cast<double>(kColUnit));
}

// OpenBLAS computes a row of C alike wherever rows are cut (columns are another matter), but for
// tiny products, of at most a million multiplications, which have kernels of their own. So no tile
// may be one: what is left below the last multiple of kRowUnit belongs to the tile above, and where
// kRowUnit rows are not safely more, only sizes decide.
Tiling tiling_for_pool(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t threads) {
  constexpr std::int64_t kNotTiny = 4'000'000;
  constexpr std::int64_t kMostRowUnits = 4;  // 768 rows: more leave the caches
  const Cuts cols = evenly(n, kColUnit);
  if (kRowUnit * cols.length(cols.parts - 1) * k < kNotTiny) return tiling_by_size(m, n);
  const std::int64_t units = std::max<std::int64_t>(1, m / kRowUnit);
  Tiling best{{m, kRowUnit, units, units}, cols};
  for (std::int64_t parts = tiles_of(units, kMostRowUnits); parts < units; ++parts) {
    const Tiling tiling{{m, kRowUnit, units, parts}, cols};
    if (cost(tiling, threads) < cost(best, threads)) best = tiling;
  }
  return best;
}

// work(first row, rows, first column, columns) for every tile of C.
template <class Work>
void for_tiles(ThreadPool& pool, const Tiling& tiling, std::int64_t k, const Work& work) {
  const Cuts &rows = tiling.rows, &cols = tiling.cols;
  pool.run(tiling.tiles(), 2 * rows.size * cols.size * k, [&](std::int64_t tile, int) {
    const std::int64_t row = tile / cols.parts, col = tile % cols.parts;
    work(rows.begin(row), rows.length(row), cols.begin(col), cols.length(col));
  });
}

// ---- mixed precision. Element is how rounded operands are kept: Bf16, or float in emulation.

void round_values(std::int64_t count, const float* x, Bf16* rounded) {
  rounding_kernels().to_bf16(count, x, rounded);
}
void round_values(std::int64_t count, const float* x, float* rounded) {
  rounding_kernels().round_to_bf16(count, x, rounded);
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<Bf16> a, Matrix<Bf16> b,
              float beta, float* c, std::int64_t c_stride) {
  gemm_bf16(m, n, k, a, b, beta != 0, c, c_stride);
}
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b,
              float beta, float* c, std::int64_t c_stride) {
  blas_gemm<float>(m, n, k, 1.0F, a, b, beta, c, c_stride);
}

// Room for rounded operands, kept from one product to the next; it means nothing in between.
template <class Element>
class Scratch {
 public:
  Element* room(std::int64_t count) {
    if (count > size_) {
      memory_ = std::make_unique_for_overwrite<Element[]>(static_cast<std::size_t>(count));
      size_ = count;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<Element[]> memory_;
  std::int64_t size_ = 0;
};

// An operand as it is stored: op is applied afterwards.
struct Stored {
  Matrix<float> x;
  std::int64_t rows, cols;
  std::int64_t count() const { return rows * cols; }
};

Stored stored(Matrix<float> x, std::int64_t rows, std::int64_t cols) {
  return x.op == Op::kNone ? Stored{x, rows, cols} : Stored{x, cols, rows};
}

// Rows [first, first + rows) of both operands one after the other; the copies have no gaps.
template <class Element>
void round_rows(const Stored& from, std::int64_t first, std::int64_t rows, Element* to) {
  for (std::int64_t r = first; r < first + rows; ++r) {
    round_values(from.cols, from.x.data + r * from.x.stride, to + r * from.cols);
  }
}

template <class Element>
void rounded_gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b,
                  float beta, float* c, std::int64_t c_stride) {
  thread_local Scratch<Element> scratch;
  const Stored left = stored(a, m, k), right = stored(b, k, n);
  Element* const rounded_a = scratch.room(left.count() + right.count());
  Element* const rounded_b = rounded_a + left.count();
  round_rows(left, 0, left.rows, rounded_a);
  round_rows(right, 0, right.rows, rounded_b);
  multiply(m, n, k, {rounded_a, left.cols, a.op}, {rounded_b, right.cols, b.op}, beta, c, c_stride);
}

template <class Element>
void rounded_matmul(ThreadPool& pool, std::int64_t m, std::int64_t n, std::int64_t k,
                    Matrix<float> a, Matrix<float> b, float beta, float* c, std::int64_t c_stride) {
  constexpr std::int64_t kRows = 32;       // per task: some 10 us
  constexpr std::int64_t kPerElement = 4;  // operations, roughly
  thread_local Scratch<Element> scratch;   // the caller's: workers only fill and read it
  const Stored left = stored(a, m, k), right = stored(b, k, n);
  Element* const rounded_a = scratch.room(left.count() + right.count());
  Element* const rounded_b = rounded_a + left.count();
  const std::int64_t left_tasks = (left.rows + kRows - 1) / kRows;
  const std::int64_t right_tasks = (right.rows + kRows - 1) / kRows;
  pool.run(left_tasks + right_tasks, kPerElement * (left.count() + right.count()),
           [&](std::int64_t task, int) {
             const bool of_left = task < left_tasks;
             const Stored& from = of_left ? left : right;
             const std::int64_t first = (of_left ? task : task - left_tasks) * kRows;
             round_rows(from, first, std::min(kRows, from.rows - first),
                        of_left ? rounded_a : rounded_b);
           });
  const Matrix<Element> all_a{rounded_a, left.cols, a.op}, all_b{rounded_b, right.cols, b.op};
  for_tiles(pool, tiling_by_size(m, n), k,
            [&](std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
              multiply(rows, cols, k, {at(all_a, row, 0), all_a.stride, all_a.op},
                       {at(all_b, 0, col), all_b.stride, all_b.op}, beta, c + row * c_stride + col,
                       c_stride);
            });
}

}  // namespace

template <class S>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, S alpha, Matrix<S> a, Matrix<S> b, S beta,
          S* c, std::int64_t c_stride, Precision precision) {
  if (m == 0 || n == 0) return;
  if constexpr (sizeof(S) == sizeof(float)) {
    if (precision != Precision::kFloat32) {
      assert(alpha == 1.0F && (beta == 0.0F || beta == 1.0F));
      const auto run = precision == Precision::kBf16 ? rounded_gemm<Bf16> : rounded_gemm<float>;
      return run(m, n, k, a, b, beta, c, c_stride);
    }
  }
  blas_gemm<S>(m, n, k, alpha, a, b, beta, c, c_stride);
}

template <class S>
void matmul(ThreadPool& pool, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<S> a,
            Matrix<S> b, S beta, S* c, std::int64_t c_stride, Precision precision) {
  if (m == 0 || n == 0) return;
  if constexpr (sizeof(S) == sizeof(float)) {
    if (precision != Precision::kFloat32) {
      assert(beta == 0.0F || beta == 1.0F);
      const auto run = precision == Precision::kBf16 ? rounded_matmul<Bf16> : rounded_matmul<float>;
      return run(pool, m, n, k, a, b, beta, c, c_stride);
    }
  }
  for_tiles(pool, tiling_for_pool(m, n, k, pool.size()), k,
            [&](std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
              blas_gemm<S>(rows, cols, k, S(1), {at(a, row, 0), a.stride, a.op},
                           {at(b, 0, col), b.stride, b.op}, beta, c + row * c_stride + col,
                           c_stride);
            });
}

void prepare_gemm() {
  openblas_set_num_threads(1);
}

const char* gemm_kernel_name() {
  return openblas_get_corename();
}

template void gemm<float>(std::int64_t, std::int64_t, std::int64_t, float, Matrix<float>,
                          Matrix<float>, float, float*, std::int64_t, Precision);
template void gemm<double>(std::int64_t, std::int64_t, std::int64_t, double, Matrix<double>,
                           Matrix<double>, double, double*, std::int64_t, Precision);
template void matmul<float>(ThreadPool&, std::int64_t, std::int64_t, std::int64_t, Matrix<float>,
                            Matrix<float>, float, float*, std::int64_t, Precision);
template void matmul<double>(ThreadPool&, std::int64_t, std::int64_t, std::int64_t, Matrix<double>,
                             Matrix<double>, double, double*, std::int64_t, Precision);

Library openblas_library() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  std::string version = ::openblas_get_config();
  version.erase(0, version.find(' ') + 1);
  return {"OpenBLAS", version.substr(0, version.find(' ')), address_of(&::openblas_get_config)};
}

}  // namespace dtl::trainer
