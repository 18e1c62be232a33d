#pragma once
// One encoder layer, forward and backward, on the flat token matrix:
//   c = attention(x)
//   h = norm1(dropout(c Wo^T + bo) + x)       DistilBERT: without this dropout
//   g = gelu(h W1^T + b1)
//   y = norm2(dropout(g W2^T + b2) + h)
// A head may read only some rows: a classifier's, each sequence's first token. Then the last layer
// computes keys and values for all tokens and everything else for these rows only, [R, H]. That is
// exact. Padding is computed like other tokens, but no token attends to it.
// Families with pre-norm layers have those of pre_norm_layer.h instead, with the same functions.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/families/model_config.h"
#include "trainer/layers/arena.h"
#include "trainer/layers/batch.h"
#include "trainer/layers/dropout.h"
#include "trainer/layers/parameters.h"
#include "trainer/layers/rotary.h"
#include "trainer/layers/score_terms.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"
#include "trainer/maths/thread_pool.h"

namespace dtl::trainer {

// Data for all layers of a pass. dropout null: evaluation.
struct Pass {
  const ModelConfig& config;
  const Batch& batch;
  const DropoutKey* dropout;
  ThreadPool& pool;
  Arena& arena;
  Precision precision = Precision::kFloat32;  // of the layers' products
  const RotaryTables* rotary = nullptr;       // of pre-norm layers
};

// The rows that a last layer computes, if not all.
struct RowChoice {
  std::vector<std::int64_t> tokens;  // [R], in order: rows of the batch
  std::vector<std::int64_t> starts;  // [B + 1]: where each sequence's begin in tokens
};

// Values that forward keeps for backward; T tokens, R computed rows (T, or those of a choice).
template <class S>
struct LayerState {
  bool is_lowest = false;             // its gradients are complete last
  const RowChoice* choice = nullptr;  // null: all rows
  std::int64_t rows = 0;              // R
  std::vector<std::int64_t> starts;   // [B + 1], rows of each sequence
  const S* input = nullptr;           // [T, H]
  const S* query_input = nullptr;     // [R, H]
  S *q = nullptr, *k = nullptr, *v = nullptr;
  std::int64_t q_stride = 0, kv_stride = 0;
  S* probabilities = nullptr;                // per (sequence, head): [its rows, own length]
  std::uint8_t* probability_mask = nullptr;  // the same shape, or null
  std::vector<std::int64_t> score_starts;    // [B], offset of a sequence's first head
  S* context = nullptr;                      // [R, H]
  std::uint8_t* out_mask = nullptr;          // [R, H] or null
  S *normed1 = nullptr, *rstd1 = nullptr;    // [R, H], [R]
  S* up = nullptr;                           // [R, I]; backward recomputes gelu(up) and h
  std::uint8_t* down_mask = nullptr;         // [R, H] or null
  S *normed2 = nullptr, *rstd2 = nullptr;
  S* output = nullptr;  // [R, H]
  // Pre-norm layers: their number; the rows between attention and feed-forward part; the factors of
  // the activated rows. They keep no probabilities, and `up` is the other half.
  int number = 0;
  S *middle = nullptr, *gate = nullptr;  // [R, H], [R, I]
  std::unique_ptr<ScoreTerms<S>> terms;  // what the family adds to the scores; null: nothing
};

// choice must live as long as the state; null: all rows.
template <class S>
LayerState<S> layer_forward(const Pass& pass, const LayerOffsets& at, int layer,
                            const RowChoice* choice, const S* parameters, const S* input);

// Backward calls this when gradients from this offset on are final; offsets decrease.
using GradientsDone = std::function<void(std::int64_t offset)>;

// Turns d from the gradient at the output [R, H] into that at the input [T, H], in place, so d has
// room for T rows. Adds parameter gradients to `gradients`. Releases what it takes from the arena.
template <class S>
void layer_backward(const Pass& pass, const LayerOffsets& at, const LayerState<S>& state,
                    const S* parameters, S* d, S* gradients, const GradientsDone& done);

// Scaled dot-product attention for all sequences and heads: fills probabilities and context.
template <class S>
void attention_forward(const Pass& pass, int layer, LayerState<S>& state);
// dq has the rows of q, dk and dv those of k; the strides are dq_stride and dkv_stride.
template <class S>
void attention_backward(const Pass& pass, const LayerState<S>& state, const S* dcontext, S* dq,
                        std::int64_t dq_stride, S* dk, S* dv, std::int64_t dkv_stride);

// The mask of [rows of all sequences, width] at a site, or null without dropout. Width 0: H.
std::uint8_t* hidden_mask(const Pass& pass, double probability, std::uint32_t site,
                          const std::vector<std::int64_t>& row_starts, std::int64_t width = 0);

// Rows per task in element-wise loops and in partial sums over rows.
constexpr std::int64_t kRowsPerTask = 64;

// Calls task(first row, rows) for blocks of kRowsPerTask; `cols` tells the work per row.
template <class Task>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t cols, const Task& task) {
  constexpr std::int64_t kPerElement = 8;  // approximate operations
  pool.run((rows + kRowsPerTask - 1) / kRowsPerTask, kPerElement * rows * cols,
           [&](std::int64_t block, int) {
             const std::int64_t first = block * kRowsPerTask;
             task(first, rows - first < kRowsPerTask ? rows - first : kRowsPerTask);
           });
}

// Calls task(first row, rows, sums[width]) for the same blocks, with zeroed sums. Adds the blocks'
// sums to total[width] in order, so results do not depend on the number of threads.
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
