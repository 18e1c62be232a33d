#pragma once
// A training run's state in a checkpoint folder: model.safetensors and config.json (as
// from_pretrained reads them), optimizer.safetensors (such as exp_avg.NAME and exp_avg_sq.NAME for
// each parameter: see optimizer_state.h) and training_state.json (step, RunIdentity and
// TrainingCost). Only rank 0 touches files.

#include <optional>
#include <string>

#include "trainer/checkpoint/run_identity.h"
#include "trainer/layers/parameters.h"
#include "trainer/step/ranks.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// Throws Error(kCannotWrite) naming the file.
void write_training_state(const std::string& folder, const ModelConfig& config,
                          const ParameterLayout& layout, const RunIdentity& identity,
                          const TrainingState& state,
                          const std::optional<TrainingCost>& cost = std::nullopt);

// Throws Error(kBadInput) naming the missing or damaged file, or listing all differences if the
// saved run does not match `identity`.
TrainingState read_training_state(const std::string& folder, const ParameterLayout& layout,
                                  const RunIdentity& identity);

// The identity of the run that wrote the checkpoint.
RunIdentity read_run_identity(const std::string& folder);
// Nothing if the checkpoint does not record it, as in older versions.
std::optional<TrainingCost> read_training_cost(const std::string& folder);

// Broadcasts from rank 0 to all ranks, straight into the arrays.
void share_training_state(Ranks& group, const ParameterLayout& layout,
                          const OptimizerSettings& optimizer, TrainingState& state);

}  // namespace dtl::trainer
