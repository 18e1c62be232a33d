#pragma once
// A training run's state in a checkpoint folder: model.safetensors and config.json (which
// from_pretrained reads), optimizer.safetensors (exp_avg.NAME and exp_avg_sq.NAME for each
// parameter NAME, AdamW's m and v) and training_state.json (step and RunIdentity). Only rank 0
// touches files.

#include <string>

#include "trainer/checkpoint/run_identity.h"
#include "trainer/model/parameters.h"
#include "trainer/step/ranks.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// Throws Error(kCannotWrite) naming the file.
void write_training_state(const std::string& folder, const ModelConfig& config,
                          const ParameterLayout& layout, const RunIdentity& identity,
                          const TrainingState& state);

// Throws Error(kBadInput): naming the file that is missing or damaged, or, when the saved run is
// another than `identity`, everything in which they differ.
TrainingState read_training_state(const std::string& folder, const ParameterLayout& layout,
                                  const RunIdentity& identity);

// From rank 0 to all, straight into the arrays.
void share_training_state(Ranks& group, const ParameterLayout& layout, TrainingState& state);

}  // namespace dtl::trainer
