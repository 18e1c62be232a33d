#pragma once
// Adafactor (Shazeer and Stern 2018) as transformers' trainer asks for it: with the schedule's
// learning rate, without first moment and without scaling by the parameters. Of the squared
// gradients of a matrix only the means of rows and columns are kept. The same bits on every rank:
// every sum has an order of its own, whatever the number of threads.

#include <cstdint>
#include <vector>

#include "trainer/maths/thread_pool.h"
#include "trainer/model/parameters.h"
#include "trainer/step/optimizer_state.h"

namespace dtl::trainer {

struct AdafactorStep {
  double learning_rate, weight_decay;
  double beta2;  // 1 - t^-0.8
  float gradient_scale;
};

class Adafactor {
 public:
  Adafactor(const ParameterLayout& layout, ThreadPool& pool);

  // The update of all tensors but the word embeddings, or of these alone.
  void step_words(const AdafactorStep& step, const float* gradients, TrainingState& state) const;
  void step_others(const AdafactorStep& step, const float* gradients, TrainingState& state) const;

 private:
  struct Matrix {  // or a vector, as one row
    std::int64_t rows, cols;
    std::int64_t offset;          // of the parameters
    std::int64_t row_at, col_at;  // in v; row_at negative: a vector
    bool decay;
  };
  struct Sums {  // of squared gradients
    std::vector<double> rows, columns;
  };
  // The update before the learning rate is gradient * rows[r] * columns[c]. rows include the
  // clipping factor of the gradients' norm.
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
