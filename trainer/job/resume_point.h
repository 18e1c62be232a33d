#pragma once
// ResumePoint: where a run's training begins: at its model, at a checkpoint, or at the end of a
// finished run, which leaves nothing to train. Rank 0's business; failures are Errors that name the
// folder.

#include <cstdint>
#include <optional>

#include "trainer/checkpoint/run_identity.h"
#include "trainer/job/run_context.h"
#include "trainer/settings/run_policy.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// The checkpoint to go on from, empty for none; what is passed over is said. Throws for one that
// was asked for and that nothing can go on from, with what to ask for instead.
std::string checkpoint_to_resume(const Settings& settings);

struct ResumePoint {
  bool resumes = false;   // else the rest says nothing
  bool finished = false;  // the output folder has this training's end, its model and its records
  TrainingState state;
  RunPolicy::Memory memory;
  std::int64_t tokens = 0;           // of all steps so far
  std::optional<TrainingCost> cost;  // the same, where it is known
};

// Call before the first step. Removes half-written checkpoints of killed runs from the output
// folder, if there is one. If the run begins anew, renames the checkpoints of an earlier run and
// prints a line: otherwise this run would resume from them after an interrupt.
void tidy_output(const Run& run);

// From run.checkpoint. Takes the log of what it goes on with into run.results.
ResumePoint find_resume_point(Run& run, const RunIdentity& identity, const RunPolicy& policy);

// For a run that does not train: run.last becomes the step that the model of the output folder is
// at, where it is this model that is evaluated.
void take_position(Run& run);

}  // namespace dtl::trainer
