#pragma once
// Run: what the parts of a job share: training, evaluation, prediction.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint_writer.h"
#include "trainer/job/load_inputs.h"
#include "trainer/job/score_dataset.h"
#include "trainer/model/model.h"
#include "trainer/report/rank_times.h"
#include "trainer/report/results.h"
#include "trainer/settings/settings.h"
#include "trainer/step/ranks.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

// How long a launcher that has told this rank to end lets it live, where it says so.
std::optional<std::chrono::milliseconds> told_grace();

struct Run {
  // Throws Error(kConfig) when this CPU lacks what --bf16 or --bf16_full_eval needs.
  Run(const Settings& settings, Ranks& group, Prepared& prepared);

  bool first() const { return group.rank() == 0; }  // the rank that speaks, reads and writes
  std::filesystem::path output(const std::string& name) const {
    return std::filesystem::path(settings.output_dir) / name;
  }
  // All ranks call these together; they use `parameters`. trains_on: in the midst of a training,
  // which says itself what is wrong with its loss. Otherwise throws Error(kBadInput) where the
  // model gives infinities or NaN.
  void evaluate(bool trains_on = false);
  void predict();
  // The model with its tokenizer, rank 0 only.
  void save_model_to(const std::filesystem::path& folder) const;

  Settings settings;
  Ranks& group;
  Prepared& prepared;
  std::unique_ptr<CheckpointWriter> writer;  // before the pool, which pins this thread
  ThreadPool pool;
  Model<float> model;
  Results results;
  RankTimes times;
  std::vector<float> parameters;
  std::string checkpoint;         // that training goes on from; empty: none. Rank 0 only
  StepReport last;                // of training; step 0: none
  std::int64_t began_at = 0;      // the step that training went on from
  bool was_finished = false;      // the output folder had this training's end already
  MetricList evaluation_metrics;  // of the last evaluate(), on all ranks
  Precision precision = Precision::kFloat32;      // of the training, and of evaluations during it
  std::optional<Precision> evaluation_precision;  // --bf16_full_eval: of what comes behind it

 private:
  std::string write_answers(const std::string& prefix, const Questioned& set,
                            const Assessment& done);
  void dump_logits(const std::vector<float>& logits) const;
};

}  // namespace dtl::trainer
