#pragma once
// Trainer: the steps of a training run, data-parallel over the ranks. A step's examples depend only
// on seed and global batch: examples [s * B, (s + 1) * B) of the epoch's random order; the last
// step of an epoch may be shorter. The loss is the exact mean over all of the step's terms, or one
// loss of all its examples (joint_loss.h), so neither the number of ranks nor gradient accumulation
// changes results. Between two steps, state()
// is all that a run needs to resume elsewhere with the same bits.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "trainer/model/model.h"
#include "trainer/step/buckets.h"
#include "trainer/step/optimizer.h"
#include "trainer/step/step_cost.h"
#include "trainer/step/step_share.h"

namespace dtl::trainer {

struct TrainSettings {
  std::int64_t global_batch = 8;  // examples per optimizer step, over all ranks
  // Micro-batches that a rank makes of its share. Fewer if the step is too short for micro-batches
  // of ceil(global_batch / accumulation) examples over all ranks.
  int accumulation = 1;
  bool drop_last = false;  // drops examples at an epoch's end that do not fill a micro-batch
  std::int64_t total_steps = 0;
  std::uint64_t seed = 42;
  std::optional<std::uint64_t> data_seed = {};  // for the examples' order, if it differs from seed
  // The format of gradients between hosts. DT_WIRE_DEFAULT means DTRING_WIRE from the environment,
  // which defaults to exact floats.
  dt_wire gradient_wire = DT_WIRE_DEFAULT;
  Padding padding = {};  // for every example: see batch.h
  OptimizerSettings optimizer = {};
};

// Examples per epoch: all, or with drop_last those in whole micro-batches. Throws Error(kBadInput)
// if none are left.
std::int64_t examples_per_epoch(std::int64_t examples, const TrainSettings& settings);
// ceil(examples / global_batch), at least 1.
std::int64_t steps_per_epoch(std::int64_t examples, std::int64_t global_batch);
std::int64_t steps_per_epoch(std::int64_t examples, const TrainSettings& settings);
// The passes after this many steps. As in transformers, it counts micro-batches, and the last step
// of a pass may have fewer.
double epoch_after(std::int64_t steps, std::int64_t examples, const TrainSettings& settings);
// Examples seen in these steps; each counts every time.
std::int64_t examples_after(std::int64_t steps, std::int64_t examples,
                            const TrainSettings& settings);

struct StepReport {
  std::int64_t step = 0;  // from 1
  double epoch = 0;       // fraction of passes done
  double loss = 0;        // mean over the step's terms: see loss_terms()
  double gradient_norm = 0;
  double learning_rate = 0;  // used by this step
  std::int64_t tokens = 0;   // in the step, over all ranks
  StepWork work = {};        // on this rank
};

class Trainer {
 public:
  // `parameters` must be equal on all ranks.
  Trainer(Model<float>& model, const TrainSettings& settings, Ranks& group, ThreadPool& pool,
          std::vector<float> parameters);
  // Continues from `state`, the state() of another Trainer, equal on all ranks.
  Trainer(Model<float>& model, const TrainSettings& settings, Ranks& group, ThreadPool& pool,
          TrainingState state);

  // Makes one optimizer step. Throws Error(kBadInput) if the loss is infinite or NaN, or the ranks'
  // errors.
  StepReport step(const Examples& examples);

  std::int64_t steps_done() const { return state_.step; }
  const std::vector<float>& parameters() const { return state_.parameters; }
  const TrainingState& state() const { return state_; }
  const TrainSettings& settings() const { return settings_; }
  // Of the last step, summed over the ranks.
  const std::vector<float>& gradients() const { return gradients_; }
  void clear_gradients();
  // What the last step gave to the network.
  const std::vector<Buckets::Sent>& sent() const { return buckets_.sent(); }
  // For each word, the number of steps in which this rank's share had it, since construction.
  const std::vector<std::uint32_t>& word_uses() const { return word_uses_; }

  // Throws Error(kInternal) naming the ranks whose parameters differ from rank 0's.
  void verify_parameters();

 private:
  // Of the next step, for dropout and masks.
  DropoutKey dropout_key() const {
    return {settings_.seed, static_cast<std::uint64_t>(steps_done())};
  }
  std::vector<std::int64_t> next_examples(const Examples& examples, std::int64_t step);
  double terms_of(const Examples& examples, std::span<const std::int64_t> chosen) const;
  Buckets::Totals accumulate(const Examples& examples, std::span<const std::int64_t> chosen,
                             StepWork& work);
  double run_terms(const StepShare& share, const DropoutKey& key, StepWork& work);
  void set_words(const StepShare& share);

  Model<float>& model_;
  TrainSettings settings_;
  Ranks& group_;
  Buckets buckets_;
  Optimizer optimizer_;
  TrainingState state_;
  std::vector<float> gradients_;
  StepWords words_;  // rows of word embeddings with a gradient
  std::vector<std::uint32_t> word_uses_;
  std::vector<std::int64_t> order_;
  std::int64_t order_epoch_ = -1;
};

}  // namespace dtl::trainer
