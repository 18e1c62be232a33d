#pragma once
// Run: the objects that training, evaluation and prediction share.

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint_writer.h"
#include "trainer/job/load_inputs.h"
#include "trainer/job/score_dataset.h"
#include "trainer/model/model.h"
#include "trainer/report/evaluation_tables.h"
#include "trainer/report/rank_times.h"
#include "trainer/report/results.h"
#include "trainer/report/step_profile.h"
#include "trainer/settings/settings.h"
#include "trainer/step/ranks.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

// The time from the launcher's end signal until it kills this rank, if the launcher told it.
std::optional<std::chrono::milliseconds> told_grace();

// The precision that an option for bfloat16 selects: true, false or emulate. Throws Error(kConfig)
// if this CPU lacks what it needs.
Precision precision_of(const std::string& option, const std::string& value);

struct Run {
  // Throws Error(kConfig) when this CPU lacks what --bf16 or --bf16_full_eval needs.
  Run(const Settings& settings, Ranks& group, Prepared& prepared);

  bool first() const { return group.rank() == 0; }  // the rank that prints, reads and writes
  std::filesystem::path output(const std::string& name) const {
    return std::filesystem::path(settings.output_dir) / name;
  }
  // A run that evaluates only, or has nothing to train, keeps the report of the training.
  bool writes_report() const {
    return settings.do_train && !was_finished && !settings.output_dir.empty();
  }
  // Collective: all ranks call these. They use `parameters`. With trains_on, training goes on and
  // checks its own loss. Otherwise throws Error(kBadInput) if the model gives infinities or NaN.
  void evaluate(bool trains_on = false);
  void predict();
  // Saves the model with its tokenizer. Rank 0 only.
  void save_model_to(const std::filesystem::path& folder) const;

  Settings settings;
  Ranks& group;
  Prepared& prepared;
  std::unique_ptr<CheckpointWriter> writer;  // before the pool, which pins this thread
  ThreadPool pool;
  Model<float> model;
  Results results;
  RankTimes times;
  StepProfile profile;
  std::string profile_text;  // of this run's training, for step_profile.json; rank 0 only
  std::vector<float> parameters;
  std::string checkpoint;          // training resumes from it; empty: none. Rank 0 only
  StepReport last;                 // training's last step; step 0: none
  std::int64_t began_at = 0;       // the step at which training resumed
  std::vector<std::string> hosts;  // of the ranks; rank 0
  std::time_t began = std::time(nullptr);
  bool was_finished = false;      // the output folder already had the end of this training
  MetricList evaluation_metrics;  // of the last evaluate(), on all ranks
  EvaluationView view;            // of the evaluation after training; rank 0
  Precision precision = Precision::kFloat32;      // of training, and of evaluations during it
  std::optional<Precision> evaluation_precision;  // --bf16_full_eval: after training

 private:
  std::string write_files(const std::vector<TaskFile>& files) const;
  void dump_outputs(const std::vector<float>& outputs) const;
};

}  // namespace dtl::trainer
