#pragma once
// The files that a run leaves beside its model, in run_glue's words, and the lines it prints. Rank
// 0's business.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/evaluate.h"
#include "trainer/settings.h"
#include "trainer/train.h"

namespace dtl::trainer {

struct TrainFigures {
  double epoch = 0, mean_loss = 0, seconds = 0;
  std::int64_t examples = 0, steps = 0, tokens = 0, examples_seen = 0;
  double flops = 0;
};

struct EvaluationFigures {
  Metrics metrics;
  std::int64_t examples = 0, batches = 0;
  double seconds = 0;
};

class Results {
 public:
  // Writes into `folder`; an empty one: keeps everything in memory.
  explicit Results(std::string folder);
  ~Results();

  // A line of the log: mean loss since the last one.
  void log_step(const StepReport& step, double mean_loss, double tokens_per_second);
  void log_evaluation(const StepReport& last, const EvaluationFigures& figures);
  void log_training(const TrainFigures& figures);
  // train_results.json, eval_results.json, all_results.json, trainer_state.json.
  void write(const Settings& settings, std::int64_t total_steps) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dtl::trainer
