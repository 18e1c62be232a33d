#pragma once
// ResumePoint: where training begins: at the initial model, at a checkpoint, or at the end of a
// finished run, which leaves nothing to train. Only rank 0 uses it. Errors name the folder.

#include <cstdint>
#include <optional>

#include "trainer/checkpoint/run_identity.h"
#include "trainer/job/run_context.h"
#include "trainer/settings/run_policy.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// The checkpoint to resume from, or empty. Prints a notice for each checkpoint that it skips. If a
// requested checkpoint is not usable, throws an Error that suggests another one.
std::string checkpoint_to_resume(const Settings& settings);

struct ResumePoint {
  bool resumes = false;   // if false, ignore the rest
  bool finished = false;  // the output folder has this training's final model and records
  TrainingState state;
  RunPolicy::Memory memory;
  std::int64_t tokens = 0;           // of all steps so far
  std::optional<TrainingCost> cost;  // for all steps so far, if known
};

// Call before the first step. Removes partial checkpoints of killed runs from the output folder, if
// there is one. If the run begins anew, renames an earlier run's checkpoints and prints a line:
// otherwise this run would resume from them after an interrupt.
void tidy_output(const Run& run);

// Reads run.checkpoint. Restores that run's log into run.results.
ResumePoint find_resume_point(Run& run, const RunIdentity& identity, const RunPolicy& policy);

// For a run without training: sets run.last to the step of the output folder's model, if the run
// evaluates that model.
void take_position(Run& run);

}  // namespace dtl::trainer
