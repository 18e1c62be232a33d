#pragma once
// One encoder layer, forward and backward, on the flat token matrix:
//   c = attention(x)
//   h = norm1(dropout(c Wo^T + bo) + x)       DistilBERT: without this dropout
//   g = gelu(h W1^T + b1)
//   y = norm2(dropout(g W2^T + b2) + h)
// A classifier reads only the first token of each sequence, so its last layer computes only those
// rows: keys and values of all tokens, everything else [B, H]. That is exact, not an approximation.
// Padding is computed as other tokens are, but no token attends to it.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/files/model_config.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/model/arena.h"
#include "trainer/model/batch.h"
#include "trainer/model/dropout.h"
#include "trainer/model/parameters.h"

namespace dtl::trainer {

// What all layers of a pass share. dropout null: evaluation.
struct Pass {
  const ModelConfig& config;
  const Batch& batch;
  const DropoutKey* dropout;
  ThreadPool& pool;
  Arena& arena;
  Precision precision = Precision::kFloat32;  // of the layers' products
};

// What forward leaves for backward; T tokens, R rows that are computed (T, or B in the last layer).
template <class S>
struct LayerState {
  bool is_lowest = false;  // whose gradients are complete last
  bool first_only = false;
  std::int64_t rows = 0;             // R
  std::vector<std::int64_t> starts;  // [B + 1], rows of each sequence
  const S* input = nullptr;          // [T, H]
  const S* query_input = nullptr;    // [R, H]
  S *q = nullptr, *k = nullptr, *v = nullptr;
  std::int64_t q_stride = 0, kv_stride = 0;
  S* probabilities = nullptr;                // per (sequence, head): [rows of it, own length]
  std::uint8_t* probability_mask = nullptr;  // the same shape, or null
  std::vector<std::int64_t> score_starts;    // [B], where a sequence's first head begins
  S* context = nullptr;                      // [R, H]
  std::uint8_t* out_mask = nullptr;          // [R, H] or null
  S *normed1 = nullptr, *rstd1 = nullptr;    // [R, H], [R]
  S* up = nullptr;                           // [R, I]; backward computes gelu(up) and h again
  std::uint8_t* down_mask = nullptr;         // [R, H] or null
  S *normed2 = nullptr, *rstd2 = nullptr;
  S* output = nullptr;  // [R, H]
};

template <class S>
LayerState<S> layer_forward(const Pass& pass, const LayerOffsets& at, int layer, bool first_only,
                            const S* parameters, const S* input);

// Told during backward that the gradients of the flat array from this offset on will not change any
// more; offsets fall.
using GradientsDone = std::function<void(std::int64_t offset)>;

// Gradient at the output, d [R, H] -> gradient at the input, d [T, H]: in place, so d has room for
// T rows. Parameter gradients are added to `gradients`. What it takes from the arena it gives back.
template <class S>
void layer_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                    const S* parameters, S* d, S* gradients, const GradientsDone& done);

// Scaled dot-product attention of all sequences and heads: fills probabilities and context.
template <class S>
void attention_forward(const Pass& pass, int layer, LayerState<S>& state);
// dq has the rows of q, dk and dv those of k; the strides are dq_stride and dkv_stride.
template <class S>
void attention_backward(const Pass& pass, const LayerState<S>& state, const S* dcontext, S* dq,
                        std::int64_t dq_stride, S* dk, S* dv, std::int64_t dkv_stride);

// The mask of [rows of all sequences, H] at a site, or null when nothing is dropped.
std::uint8_t* hidden_mask(const Pass& pass, double probability, std::uint32_t site,
                          const std::vector<std::int64_t>& row_starts);

// Rows per task of the element-wise loops, and of partial sums over rows.
constexpr std::int64_t kRowsPerTask = 64;

// task(first row, rows) over blocks of kRowsPerTask; `cols` tells how much work a row is.
template <class Task>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t cols, const Task& task) {
  constexpr std::int64_t kPerElement = 8;  // operations, roughly
  pool.run((rows + kRowsPerTask - 1) / kRowsPerTask, kPerElement * rows * cols,
           [&](std::int64_t block, int) {
             const std::int64_t first = block * kRowsPerTask;
             task(first, rows - first < kRowsPerTask ? rows - first : kRowsPerTask);
           });
}

// task(first row, rows, sums[width]) over the same blocks, sums zeroed before. The blocks' sums are
// added to total[width] in order, so the result does not depend on the number of threads.
template <class S, class Task>
void sum_over_rows(const Pass& pass, std::int64_t rows, std::int64_t width, S* total,
                   const Task& task) {
  const std::int64_t blocks = (rows + kRowsPerTask - 1) / kRowsPerTask;
  S* partial = pass.arena.take<S>(blocks * width);
  for_rows(pass.pool, rows, width, [&](std::int64_t first, std::int64_t count) {
    S* sums = partial + first / kRowsPerTask * width;
    std::fill(sums, sums + width, S(0));
    task(first, count, sums);
  });
  for (std::int64_t block = 0; block < blocks; ++block) {
    kernels<S>().add(width, partial + block * width, total);
  }
}

}  // namespace dtl::trainer
