// The update of one tensor t with gradient g (scaled by the clipping factor), as in transformers'
// Adafactor with factored second moments. For a matrix [R, C]:
//   rows[r]    = beta2 rows[r]    + (1 - beta2) (mean over c of g[r, c]^2 + 1e-30)
//   columns[c] = beta2 columns[c] + (1 - beta2) (mean over r of g[r, c]^2 + 1e-30)
//   u[r, c]    = g[r, c] / sqrt(rows[r] / mean(rows)) / sqrt(columns[c])
//   p          = p (1 - lr wd) - lr u / max(1, rms(u))
// A vector keeps all its squares, as the columns of a matrix with one row. u is not stored: it is g
// times a row factor and a column factor, so the update needs no memory of the gradients' size.
// Word embeddings are updated separately because their gradients arrive last.
#include "trainer/step/adafactor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/maths/kernels.h"

namespace dtl::trainer {
namespace {

constexpr double kLeastSquare = 1e-30;    // added to each squared gradient
constexpr double kClipping = 1;           // limit for the update's root mean square
constexpr std::int64_t kBlock = 1 << 17;  // 512 KiB of gradients: a task of some 50 us

// Blocks are whole rows. Only the tensor's shape decides them, because the order of sums must not
// depend on the number of threads.
std::int64_t rows_of_block(std::int64_t cols) {
  return std::max<std::int64_t>(1, kBlock / cols);
}

// Runs work(first row, end) for each block of rows.
template <class Work>
void for_blocks(ThreadPool& pool, std::int64_t rows, std::int64_t cols, const Work& work) {
  const std::int64_t each = rows_of_block(cols);
  pool.run((rows + each - 1) / each, 4 * rows * cols, [&](std::int64_t block, int) {
    work(block, block * each, std::min(rows, (block + 1) * each));
  });
}

// Exponential moving average of mean squares.
float next_mean(float before, double beta2, double mean_square) {
  return static_cast<float>(beta2 * static_cast<double>(before) +
                            (1.0 - beta2) * (mean_square + kLeastSquare));
}

float inverse_root(double x) {
  return static_cast<float>(1.0 / std::sqrt(x));
}

}  // namespace

Adafactor::Adafactor(const ParameterLayout& layout, std::int64_t first, ThreadPool& pool)
    : pool_(pool) {
  std::int64_t at = 0;  // in v, in the order of optimizer_state()
  for (const ParameterInfo& tensor : layout.tensors) {
    if (tensor.offset < first) continue;
    const bool factored = tensor.shape.size() == 2;
    Matrix matrix{1, tensor.count, tensor.offset, -1, at, tensor.decay};
    if (factored) {
      matrix.rows = tensor.shape[0];
      matrix.cols = tensor.shape[1];
      matrix.row_at = at;
      matrix.col_at = at + matrix.rows;
    }
    at = matrix.col_at + matrix.cols;
    (tensor.offset == layout.word ? words_ : others_).push_back(matrix);
  }
}

// Each block sums columns in its part of `parts`. The parts are then added in block order.
Adafactor::Sums Adafactor::sum_squares(const Matrix& t, float scale, const float* g) const {
  const std::int64_t blocks = (t.rows + rows_of_block(t.cols) - 1) / rows_of_block(t.cols);
  const auto cols = static_cast<std::size_t>(t.cols);
  std::vector<double> parts(static_cast<std::size_t>(blocks) * cols);
  Sums sums;
  sums.rows.resize(static_cast<std::size_t>(t.rows));
  for_blocks(pool_, t.rows, t.cols, [&](std::int64_t block, std::int64_t row, std::int64_t end) {
    double* part = parts.data() + block * t.cols;
    for (; row < end; ++row) {
      sums.rows[static_cast<std::size_t>(row)] =
          optimizer_kernels().add_squares(t.cols, scale, g + row * t.cols, part);
    }
  });
  sums.columns.assign(parts.begin(), parts.begin() + t.cols);
  for (std::size_t at = cols; at < parts.size(); ++at) sums.columns[at % cols] += parts[at];
  return sums;
}

// Sums each row separately and then adds in order: the result does not depend on the threads.
double Adafactor::sum_update(const Matrix& t, const Factors& factors, const float* g) const {
  std::vector<double> sums(static_cast<std::size_t>(t.rows));
  for_blocks(pool_, t.rows, t.cols, [&](std::int64_t, std::int64_t row, std::int64_t end) {
    for (; row < end; ++row) {
      const auto r = static_cast<std::size_t>(row);
      sums[r] = optimizer_kernels().sum_scaled_squares(t.cols, factors.rows[r],
                                                       factors.columns.data(), g + row * t.cols);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

void Adafactor::update(const Matrix& t, const AdafactorStep& step, const float* gradients,
                       TrainingState& state) const {
  const float* g = gradients + t.offset;
  const Sums sums = sum_squares(t, step.gradient_scale, g);
  const bool factored = t.row_at >= 0;
  Factors factors;
  // Start the row factors with the scale of clipping, so that g counts as clipped.
  factors.rows.assign(sums.rows.size(), step.gradient_scale);
  factors.columns.resize(sums.columns.size());
  float* columns = state.v.data() + t.col_at;
  // A vector has its single squares in sums.columns: no mean is needed.
  const double rows_of_mean = factored ? static_cast<double>(t.rows) : 1.0;
  for (std::size_t c = 0; c < sums.columns.size(); ++c) {
    columns[c] = next_mean(columns[c], step.beta2, sums.columns[c] / rows_of_mean);
    factors.columns[c] = inverse_root(static_cast<double>(columns[c]));
  }
  if (factored) {
    float* rows = state.v.data() + t.row_at;
    double mean = 0;
    for (std::size_t r = 0; r < sums.rows.size(); ++r) {
      rows[r] = next_mean(rows[r], step.beta2, sums.rows[r] / static_cast<double>(t.cols));
      mean += static_cast<double>(rows[r]);
    }
    mean /= static_cast<double>(t.rows);
    for (std::size_t r = 0; r < sums.rows.size(); ++r) {
      factors.rows[r] *= inverse_root(static_cast<double>(rows[r]) / mean);
    }
  }
  const double root_mean_square =
      std::sqrt(sum_update(t, factors, g) / static_cast<double>(t.rows * t.cols));
  const double rate = step.learning_rate / std::max(1.0, root_mean_square / kClipping);
  const auto keep =
      static_cast<float>(1.0 - (t.decay ? step.learning_rate * step.weight_decay : 0.0));
  // From here on, the row factors include the clipped learning rate.
  for (float& factor : factors.rows) {
    factor = static_cast<float>(static_cast<double>(factor) * rate);
  }
  float* p = state.parameters.data() + t.offset;
  for_blocks(pool_, t.rows, t.cols, [&](std::int64_t, std::int64_t row, std::int64_t end) {
    for (; row < end; ++row) {
      optimizer_kernels().scaled_step(t.cols, keep, factors.rows[static_cast<std::size_t>(row)],
                                      factors.columns.data(), g + row * t.cols, p + row * t.cols);
    }
  });
}

void Adafactor::step_words(const AdafactorStep& step, const float* gradients,
                           TrainingState& state) const {
  for (const Matrix& matrix : words_) update(matrix, step, gradients, state);
}

void Adafactor::step_others(const AdafactorStep& step, const float* gradients,
                            TrainingState& state) const {
  for (const Matrix& matrix : others_) update(matrix, step, gradients, state);
}

}  // namespace dtl::trainer
