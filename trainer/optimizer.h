#pragma once
// AdamW in PyTorch's form, the linear schedule and clipping by the global norm. The same bits on
// every rank: fixed order of summation, no dependence on threads or on the CPU's vectors.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/parameters.h"
#include "trainer/thread_pool.h"

namespace dtl::trainer {

struct OptimizerSettings {
  double learning_rate = 5e-5;
  double weight_decay = 0.0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_grad_norm = 1.0;  // 0: no clipping
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
};

// The learning rate of step number `step`, from 0: up over warmup_steps, then down to 0 at
// total_steps.
double linear_schedule(const OptimizerSettings& settings, std::int64_t step);

class AdamW {
 public:
  AdamW(const ParameterLayout& layout, const OptimizerSettings& settings, ThreadPool& pool);

  struct Result {
    double gradient_norm;  // before clipping
    double learning_rate;
  };
  // One update. Gradients of word embeddings are zero except in the rows of `words`.
  Result step(std::span<const std::int32_t> words, const float* gradients, float* parameters);
  std::int64_t steps_done() const { return done_; }

 private:
  struct Piece {  // of one tensor
    std::int64_t begin, count;
    bool decay;
  };
  double gradient_norm(std::span<const std::int32_t> words, const float* gradients);

  OptimizerSettings settings_;
  ThreadPool& pool_;
  std::int64_t word_begin_, word_end_, hidden_;
  std::vector<Piece> pieces_;
  std::vector<double> squares_;  // per piece
  std::vector<float> m_, v_;
  std::int64_t done_ = 0;
};

}  // namespace dtl::trainer
