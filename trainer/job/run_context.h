#pragma once
// Run: what the parts of a job share: training, evaluation, prediction.

#include <filesystem>
#include <memory>
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

struct Run {
  // Throws Error(kConfiguration) when this CPU lacks what --bf16 needs.
  Run(const Settings& settings, Ranks& group, Prepared& prepared);

  bool first() const { return group.rank() == 0; }  // the rank that speaks, reads and writes
  std::filesystem::path output(const std::string& name) const {
    return std::filesystem::path(settings.output_dir) / name;
  }
  // All ranks; with `parameters`.
  void evaluate();
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
  StepReport last;                // of training; step 0: none
  MetricList evaluation_metrics;  // of the last evaluate(), on all ranks
  Precision precision = Precision::kFloat32;

 private:
  std::string write_answers(const std::string& prefix, const Questioned& set,
                            const Assessment& done);
  void dump_logits(const std::vector<float>& logits) const;
};

}  // namespace dtl::trainer
