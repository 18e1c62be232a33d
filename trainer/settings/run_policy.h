#pragma once
// RunPolicy: decides what to do after each step of a run, by the rules of transformers' Trainer. A
// plain value without files or clock. Equal inputs give equal decisions on all ranks.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

// Names and values of an evaluation, in display order.
using MetricList = std::vector<std::pair<std::string, double>>;

enum class Strategy { kNo, kSteps, kEpoch, kBest };  // kBest: only for saving

struct PolicySettings {
  std::int64_t total_steps = 0, steps_per_epoch = 1;
  Strategy logging = Strategy::kSteps, evaluation = Strategy::kNo, saving = Strategy::kNo;
  std::int64_t logging_steps = 1, eval_steps = 1, save_steps = 1;
  bool log_first_step = false;
  double eval_delay = 0;  // steps or passes, in eval_strategy's unit
  std::string metric;     // selects the best model; empty: none
  bool greater_is_better = false;
  std::int64_t patience = 0;  // evaluations without improvement; 0: never stop early
  double threshold = 0;
};

// Turns shares of all steps into steps. By default, 20 log lines per run.
PolicySettings policy_settings(const Settings& settings, std::int64_t total_steps,
                               std::int64_t steps_per_epoch);

struct Actions {  // in this order; `stop` last
  bool log = false, evaluate = false, save = false, stop = false;
};

class RunPolicy {
 public:
  explicit RunPolicy(PolicySettings settings) : settings_(std::move(settings)) {}

  // step: the number of finished steps, from 1. Strategies by epoch treat the last step as the end
  // of an epoch. Strategies by steps also log, evaluate and save at the last step. Call evaluated()
  // to learn whether saving strategy kBest saves.
  Actions after_step(std::int64_t step) const;

  // Records an evaluation; names are without "eval_". Returns true if it is the best so far. Throws
  // Error(kUsage) listing the metrics if the chosen one is missing. NaN is never the best.
  bool evaluated(std::int64_t step, const MetricList& metrics);
  // Early stopping: whether the patience has run out.
  bool out_of_patience() const;

  // Records that the model of this step is on disk. Returns true if it is the best of those.
  bool saved(std::int64_t step);

  struct Best {
    double metric = 0;
    std::int64_t step = 0;
  };
  std::optional<Best> best_saved() const { return best_saved_; }  // to load at the end

  // The state that a resumed run needs besides the settings.
  struct Memory {
    std::optional<Best> best, best_saved;
    std::int64_t without_better = 0;
  };
  Memory memory() const { return {best_, best_saved_, without_better_}; }
  void restore(const Memory& memory);
  // Whether a run at this step, with this memory, has nothing left to train.
  bool is_over(std::int64_t step, const Memory& memory) const;

  const PolicySettings& settings() const { return settings_; }

 private:
  bool is_delayed(std::int64_t step) const;
  bool better(double value, const std::optional<Best>& than) const;

  PolicySettings settings_;
  std::optional<Best> best_, best_saved_, last_;
  std::int64_t without_better_ = 0;
};

}  // namespace dtl::trainer
