#pragma once
// RunPolicy: what is to be done after each step of a run. A pure value that knows no files and no
// clock; the rules are those of transformers' Trainer. Equal on all ranks that are told the same.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

// Names and values of an evaluation, in the order in which they are shown.
using MetricList = std::vector<std::pair<std::string, double>>;

enum class Strategy { kNo, kSteps, kEpoch, kBest };  // kBest: saving's alone

struct PolicySettings {
  std::int64_t total_steps = 0, steps_per_epoch = 1;
  Strategy logging = Strategy::kSteps, evaluation = Strategy::kNo, saving = Strategy::kNo;
  std::int64_t logging_steps = 1, eval_steps = 1, save_steps = 1;
  bool log_first_step = false;
  double eval_delay = 0;  // steps or passes, in the evaluation's unit
  std::string metric;     // that decides which model is the best; empty: none does
  bool greater_is_better = false;
  std::int64_t patience = 0;  // evaluations without a better one; 0: never stop early
  double threshold = 0;
};

// Shares of all steps become steps here; a line every twentieth of the run where nothing is said.
PolicySettings policy_settings(const Settings& settings, std::int64_t total_steps,
                               std::int64_t steps_per_epoch);

struct Actions {  // in this order; `stop` after the others
  bool log = false, evaluate = false, save = false, stop = false;
};

class RunPolicy {
 public:
  explicit RunPolicy(PolicySettings settings) : settings_(std::move(settings)) {}

  // step: how many steps are done, from 1. Strategies by epoch count the last step as the end of an
  // epoch; with steps, the last one is logged, evaluated and saved, too. What is saved for being
  // the best, evaluated() tells.
  Actions after_step(std::int64_t step) const;

  // Enters an evaluation, names without "eval_". True when it is the best so far. Throws
  // Error(kUsage) naming the metrics when the chosen one is not among them. NaN is never the best.
  bool evaluated(std::int64_t step, const MetricList& metrics);
  // Early stopping: the patience has run out.
  bool out_of_patience() const;

  // Enters that the model of this step is on disk. True when it is the best of those.
  bool saved(std::int64_t step);

  struct Best {
    double metric = 0;
    std::int64_t step = 0;
  };
  std::optional<Best> best_saved() const { return best_saved_; }  // to load at the end

  // What a resumed run needs besides the settings.
  struct Memory {
    std::optional<Best> best, best_saved;
    std::int64_t without_better = 0;
  };
  Memory memory() const { return {best_, best_saved_, without_better_}; }
  void restore(const Memory& memory);
  // Whether a run that has come to this step, with this memory, has nothing left to train.
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
