#pragma once
// Adafactor (Shazeer and Stern 2018) as in transformers' trainer: with the schedule's learning
// rate, without first moment, without scaling by the parameters. For a matrix, it keeps only row
// and column means of squared gradients. Same bits on every rank: the order of every sum is fixed,
// whatever the number of threads.

#include <cstdint>
#include <vector>

#include "trainer/layers/parameters.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/step/optimizer_state.h"

namespace dtl::trainer {

struct AdafactorStep {
  double learning_rate, weight_decay;
  double beta2;  // 1 - t^-0.8
  float gradient_scale;
};

class Adafactor {
 public:
  // For the parameters from `first` on.
  Adafactor(const ParameterLayout& layout, std::int64_t first, ThreadPool& pool);

  // Updates all tensors but the word embeddings, or only the word embeddings.
  void step_words(const AdafactorStep& step, const float* gradients, TrainingState& state) const;
  void step_others(const AdafactorStep& step, const float* gradients, TrainingState& state) const;

 private:
  struct Matrix {  // a vector is one row
    std::int64_t rows, cols;
    std::int64_t offset;          // in the parameters
    std::int64_t row_at, col_at;  // in v; row_at negative: a vector
    bool decay;
  };
  struct Sums {  // of squared gradients
    std::vector<double> rows, columns;
  };
  // The update is gradient * rows[r] * columns[c], before the learning rate. rows include the
  // factor that clips the gradients' norm.
  struct Factors {
    std::vector<float> rows, columns;
  };
  Sums sum_squares(const Matrix& matrix, float scale, const float* gradients) const;
  double sum_update(const Matrix& matrix, const Factors& factors, const float* gradients) const;
  void update(const Matrix& matrix, const AdafactorStep& step, const float* gradients,
              TrainingState& state) const;

  ThreadPool& pool_;
  std::vector<Matrix> words_, others_;
};

}  // namespace dtl::trainer
