// Only this file uses OpenBLAS, always on one thread, because OpenBLAS's own threads serialise
// callers. matmul runs tiles of C in parallel instead. It knows neither layers nor tensors.
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

// The address of op(x)[row, col].
template <class S>
const S* at(const Matrix<S>& x, std::int64_t row, std::int64_t col) {
  return x.op == Op::kNone ? x.data + row * x.stride + col : x.data + col * x.stride + row;
}

// OpenBLAS takes sizes and strides as 32-bit integers.
template <class S>
void blas_gemm(ProductSize size, S alpha, Matrix<S> a, Matrix<S> b, S beta, Target<S> c) {
  const auto run = [&](auto* function) {
    function(CblasRowMajor, blas_op(a.op), blas_op(b.op), static_cast<int>(size.m),
             static_cast<int>(size.n), static_cast<int>(size.k), alpha, a.data,
             static_cast<int>(a.stride), b.data, static_cast<int>(b.stride), beta, c.data,
             static_cast<int>(c.stride));
  };
  if constexpr (sizeof(S) == sizeof(float)) {
    run(&cblas_sgemm);
  } else {
    run(&cblas_dgemm);
  }
}

// Cuts [0, size) at multiples of `unit` into `parts` pieces of nearly equal size. The last piece
// includes the remainder.
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

// How C is cut into tiles.
struct Tiling {
  Cuts rows, cols;
  std::int64_t tiles() const { return rows.parts * cols.parts; }
};

// Rows and columns of a tile. Cut columns only at multiples of kColUnit: where columns are cut
// changes the bits of OpenBLAS's results.
constexpr std::int64_t kColUnit = 384, kRowUnit = 192;

// For results that depend on the cuts: only the sizes decide. Doubles the height of tiles if at
// least kEnoughTiles remain, enough for the threads of a pool.
Tiling tiling_by_size(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kEnoughTiles = 16;
  const Tiling high{evenly(m, 2 * kRowUnit), evenly(n, kColUnit)};
  return high.tiles() >= kEnoughTiles ? high : Tiling{evenly(m, kRowUnit), high.cols};
}

// Relative time of the busiest thread, compared with an equal share of the multiplications. Each
// tile packs its part of both operands again. Packing one element costs as much as kPacking
// multiplications (AVX-512), which adds 12% for tiles of 384 x 384.
double cost(const Tiling& tiling, std::int64_t threads) {
  constexpr double kPacking = 23;
  const auto rows = static_cast<double>(tiling.rows.size) / static_cast<double>(tiling.rows.parts);
  const std::int64_t rounds = tiles_of(tiling.tiles(), threads);
  return static_cast<double>(rounds * threads) / static_cast<double>(tiling.tiles()) *
         (1 + kPacking / rows + kPacking / static_cast<double>(kColUnit));
}

// The bits of a row of C do not depend on where rows are cut (unlike columns), except in tiny
// products of at most a million multiplications, for which OpenBLAS has other kernels. So no tile
// may be tiny: the remainder below a multiple of kRowUnit belongs to the tile above, and if
// kRowUnit rows may be too few, only the sizes decide.
Tiling tiling_for_pool(ProductSize size, std::int64_t threads) {
  const auto [m, n, k] = size;
  // In multiplications: four times OpenBLAS's limit of a million, to be safe.
  constexpr std::int64_t kNotTiny = 4'000'000;
  constexpr std::int64_t kMostRowUnits = 4;  // 768 rows: more do not fit into the caches
  const Cuts cols = evenly(n, kColUnit);
  if (kRowUnit * cols.length(cols.parts - 1) * k < kNotTiny) return tiling_by_size(m, n);
  const std::int64_t units = std::max<std::int64_t>(1, m / kRowUnit);
  Tiling best{{m, kRowUnit, units, units}, cols};
  // Starts with the most tiles. Fewer tiles replace them only if they are cheaper.
  for (std::int64_t parts = tiles_of(units, kMostRowUnits); parts < units; ++parts) {
    const Tiling tiling{{m, kRowUnit, units, parts}, cols};
    if (cost(tiling, threads) < cost(best, threads)) best = tiling;
  }
  return best;
}

// Calls work(first row, rows, first column, columns) for every tile of C.
template <class Work>
void for_tiles(ThreadPool& pool, const Tiling& tiling, std::int64_t k, const Work& work) {
  const Cuts &rows = tiling.rows, &cols = tiling.cols;
  pool.run(tiling.tiles(), 2 * rows.size * cols.size * k, [&](std::int64_t tile, int) {
    const std::int64_t row = tile / cols.parts, col = tile % cols.parts;
    work(rows.begin(row), rows.length(row), cols.begin(col), cols.length(col));
  });
}

// ---- mixed precision. Element is the type of rounded operands: Bf16, or float in emulation.

void round_values(std::int64_t count, const float* x, Bf16* rounded) {
  rounding_kernels().to_bf16(count, x, rounded);
}
void round_values(std::int64_t count, const float* x, float* rounded) {
  rounding_kernels().round_to_bf16(count, x, rounded);
}

void multiply(ProductSize size, Matrix<Bf16> a, Matrix<Bf16> b, float beta, Target<float> c) {
  gemm_bf16(size.m, size.n, size.k, a, b, beta != 0, c.data, c.stride);
}
void multiply(ProductSize size, Matrix<float> a, Matrix<float> b, float beta, Target<float> c) {
  blas_gemm<float>(size, 1.0F, a, b, beta, c);
}

// A buffer for rounded operands, reused by later products.
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

// An operand as stored; op is applied later.
struct Stored {
  Matrix<float> x;
  std::int64_t rows, cols;
  std::int64_t count() const { return rows * cols; }
};

Stored stored(Matrix<float> x, std::int64_t rows, std::int64_t cols) {
  return x.op == Op::kNone ? Stored{x, rows, cols} : Stored{x, cols, rows};
}

// Rounds rows [first, first + rows) of one operand; the copy has no gaps.
template <class Element>
void round_rows(const Stored& from, std::int64_t first, std::int64_t rows, Element* to) {
  for (std::int64_t r = first; r < first + rows; ++r) {
    round_values(from.cols, from.x.data + r * from.x.stride, to + r * from.cols);
  }
}

template <class Element>
void rounded_gemm(ProductSize size, Matrix<float> a, Matrix<float> b, float beta, Target<float> c) {
  // Per thread: rounded_gemm runs inside the pool's tasks, for attention.
  thread_local Scratch<Element> scratch;
  const Stored left = stored(a, size.m, size.k), right = stored(b, size.k, size.n);
  Element* const rounded_a = scratch.room(left.count() + right.count());
  Element* const rounded_b = rounded_a + left.count();
  round_rows(left, 0, left.rows, rounded_a);
  round_rows(right, 0, right.rows, rounded_b);
  multiply(size, {rounded_a, left.cols, a.op}, {rounded_b, right.cols, b.op}, beta, c);
}

template <class Element>
void rounded_matmul(ThreadPool& pool, ProductSize size, Matrix<float> a, Matrix<float> b,
                    float beta, Target<float> c) {
  constexpr std::int64_t kRows = 32;       // per task: about 10 us
  constexpr std::int64_t kPerElement = 4;  // operations, roughly
  thread_local Scratch<Element> scratch;   // of the caller: workers only fill and read it
  const Stored left = stored(a, size.m, size.k), right = stored(b, size.k, size.n);
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
  // The bits may depend on the cuts, so the number of threads must not affect them.
  for_tiles(pool, tiling_by_size(size.m, size.n), size.k,
            [&](std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
              multiply({rows, cols, size.k}, {at(all_a, row, 0), all_a.stride, all_a.op},
                       {at(all_b, 0, col), all_b.stride, all_b.op}, beta,
                       {c.data + row * c.stride + col, c.stride});
            });
}

}  // namespace

template <class S>
void gemm(ProductSize size, S alpha, Matrix<S> a, Matrix<S> b, S beta, Target<S> c,
          Precision precision) {
  if (size.m == 0 || size.n == 0) return;
  if constexpr (sizeof(S) == sizeof(float)) {
    if (precision != Precision::kFloat32) {
      assert(alpha == 1.0F && (beta == 0.0F || beta == 1.0F));
      const auto run = precision == Precision::kBf16 ? rounded_gemm<Bf16> : rounded_gemm<float>;
      return run(size, a, b, beta, c);
    }
  }
  blas_gemm<S>(size, alpha, a, b, beta, c);
}

template <class S>
void matmul(ThreadPool& pool, ProductSize size, Matrix<S> a, Matrix<S> b, S beta, Target<S> c,
            Precision precision) {
  if (size.m == 0 || size.n == 0) return;
  if constexpr (sizeof(S) == sizeof(float)) {
    if (precision != Precision::kFloat32) {
      assert(beta == 0.0F || beta == 1.0F);
      const auto run = precision == Precision::kBf16 ? rounded_matmul<Bf16> : rounded_matmul<float>;
      return run(pool, size, a, b, beta, c);
    }
  }
  for_tiles(pool, tiling_for_pool(size, pool.size()), size.k,
            [&](std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) {
              blas_gemm<S>({rows, cols, size.k}, S(1), {at(a, row, 0), a.stride, a.op},
                           {at(b, 0, col), b.stride, b.op}, beta,
                           {c.data + row * c.stride + col, c.stride});
            });
}

// Otherwise OpenBLAS uses its own threads, which serialise callers.
void prepare_gemm() {
  openblas_set_num_threads(1);
}

const char* gemm_kernel_name() {
  return openblas_get_corename();
}

template void gemm<float>(ProductSize, float, Matrix<float>, Matrix<float>, float, Target<float>,
                          Precision);
template void gemm<double>(ProductSize, double, Matrix<double>, Matrix<double>, double,
                           Target<double>, Precision);
template void matmul<float>(ThreadPool&, ProductSize, Matrix<float>, Matrix<float>, float,
                            Target<float>, Precision);
template void matmul<double>(ThreadPool&, ProductSize, Matrix<double>, Matrix<double>, double,
                             Target<double>, Precision);

Library openblas_library() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  std::string version = ::openblas_get_config();
  version.erase(0, version.find(' ') + 1);
  return {"OpenBLAS", version.substr(0, version.find(' ')), address_of(&::openblas_get_config)};
}

}  // namespace dtl::trainer
