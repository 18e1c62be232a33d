#pragma once
// Trainer: the steps of a training run, data-parallel over a Group. A step's examples depend on
// seed and global batch only: examples [s * B, (s + 1) * B) of the epoch's random order, the last
// step of an epoch shorter. The loss is the exact mean over the step's examples however they are
// shared out, so neither the number of ranks nor gradient accumulation changes what is computed.

#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/buckets.h"
#include "trainer/model.h"
#include "trainer/optimizer.h"

namespace dtl::trainer {

struct TrainSettings {
  std::int64_t global_batch = 8;  // examples of an optimizer step, on all ranks
  int accumulation = 1;           // micro-batches that a rank makes of its share
  std::int64_t total_steps = 0;
  std::uint64_t seed = 42;
  OptimizerSettings optimizer;
};

// ceil(examples / global_batch), at least 1.
std::int64_t steps_per_epoch(std::int64_t examples, std::int64_t global_batch);

struct StepReport {
  std::int64_t step = 0;  // from 1
  double epoch = 0;       // fraction of passes done
  double loss = 0;        // mean over the step's examples
  double gradient_norm = 0;
  double learning_rate = 0;
  std::int64_t tokens = 0;  // of the step, all ranks
};

class Trainer {
 public:
  // `parameters` must be equal on all ranks.
  Trainer(Model<float>& model, const TrainSettings& settings, Group& group, ThreadPool& pool,
          std::vector<float> parameters);

  // One optimizer step. Throws Error(kBadInput) when the loss is not a number, or the Group's
  // errors.
  StepReport step(const Examples& examples);

  std::int64_t steps_done() const { return optimizer_.steps_done(); }
  const std::vector<float>& parameters() const { return parameters_; }
  // Of the last step, summed over the ranks.
  const std::vector<float>& gradients() const { return gradients_; }
  void clear_gradients();

  // Throws Error(kInternal) naming the ranks whose parameters differ from rank 0's.
  void verify_parameters();

 private:
  std::vector<std::int64_t> next_examples(const Examples& examples, std::int64_t step);
  double accumulate(const Examples& examples, std::span<const std::int64_t> chosen);

  Model<float>& model_;
  TrainSettings settings_;
  Group& group_;
  Buckets buckets_;
  AdamW optimizer_;
  std::vector<float> parameters_, gradients_;
  std::vector<std::int32_t> words_;  // rows of word embeddings with a gradient
  std::vector<std::int64_t> order_;
  std::int64_t order_epoch_ = -1;
};

}  // namespace dtl::trainer
