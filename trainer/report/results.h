#pragma once
// The files that a run leaves beside its model, with Hugging Face's names and keys: figures
// (train_results.json, eval_results.json, predict_results.json, all_results.json), the trainer's
// state (trainer_state.json), settings (training_args.json) and TensorBoard events.
// Also metrics.jsonl, one object per log row. Only rank 0 uses it; one thread. Throws
// Error(kCannotWrite or kIo) naming the file.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/settings/run_policy.h"
#include "trainer/settings/settings.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

struct TrainShare {  // cost and progress of some of a training's steps
  double mean_loss = 0, seconds = 0;
  std::int64_t steps = 0, examples = 0, tokens = 0;  // each example counts every time
};

struct TrainFigures {
  double epoch = 0;
  std::int64_t examples = 0, steps = 0;  // of the data set; at the end
  double flops = 0;                      // for the whole training, as in total
  TrainShare run;                        // this run's
  std::optional<TrainShare> total = {};  // of all runs, if several and known
};

struct EvaluationFigures {
  std::string prefix = "eval";  // predict: only in predict_results.json
  std::string suffix;           // "_mm" after every key: MNLI's mismatched texts
  MetricList metrics;           // without prefix: loss, accuracy, ...
  std::int64_t examples = 0, batches = 0;
  double seconds = 0;
};

class Results {
 public:
  // Writes to `folder`; if empty, keeps everything in memory. Writes events to `event_folder`; if
  // empty, writes none.
  explicit Results(std::string folder, const std::string& event_folder = {});
  ~Results();
  Results(Results&&) noexcept;

  // Call before logging anything: sets the run's settings for trainer_state.json and
  // training_args.json. Truncates metrics.jsonl and writes the restored rows. Without do_train, or
  // if `keep` says that the folder has this training's records, appends to it and leaves the other
  // two files alone.
  void start(const Settings& settings, const PolicySettings& policy, bool keep = false);

  // Adds a log row; mean_loss covers the steps since the last one.
  void log_step(const StepReport& step, double mean_loss, double tokens_per_second);
  // Runs that do not train pass step 0, and the row has no epoch. For each prefix and suffix, the
  // files show the last figures.
  void log_evaluation(std::int64_t step, double epoch, const EvaluationFigures& figures);
  void log_training(const TrainFigures& figures);

  // Sets the run's progress for the state. flops: as in TrainFigures; tokens: of all steps so far.
  void set_position(std::int64_t step, double epoch, double flops, std::int64_t tokens);
  // Sets the best model. `checkpoint`: the folder of memory.best_saved, or empty.
  void set_best(const RunPolicy::Memory& memory, const std::string& checkpoint);

  // The current trainer_state.json, for a checkpoint's folder.
  std::string state_text() const;

  struct Restored {
    std::int64_t step = 0, tokens = 0;
    double epoch = 0, flops = 0;
    RunPolicy::Memory best;
    std::string best_checkpoint;  // as written; the run's folder may have moved since
  };
  // Call before start(): restores the log and the best model from state_text() or transformers' own
  // trainer_state.json. `metric` selects the best model; messages name `place`. Throws
  // Error(kBadInput).
  Restored restore(const std::string& text, const std::string& metric, const std::string& place);

  // Writes the figures, trainer_state.json and training_args.json. all_results.json keeps earlier
  // runs' figures under other keys.
  void write() const;

  // For reports: (step, value) of the log rows that have the key, in order. Of equal steps, keeps
  // the first: the last evaluation may be of the best model, which is from an earlier step.
  std::vector<std::pair<std::int64_t, double>> curve(const std::string& key) const;
  // Keys of evaluations in the log, without times and rates: eval_loss, eval_f1, ...
  std::vector<std::string> evaluated_keys() const;
  // All figures of this run, as in all_results.json.
  MetricList figures() const;

 private:
  // Impl keeps nlohmann-json out of this header.
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dtl::trainer
