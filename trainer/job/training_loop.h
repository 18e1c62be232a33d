#pragma once
// A run's training from its first step, or from a checkpoint, to its end: logging, evaluation,
// checkpoints and early stopping when their time comes, and an orderly end on SIGTERM.

#include "trainer/job/run_context.h"

namespace dtl::trainer {

// All ranks. Leaves the parameters in run.parameters: the last ones, or those of the best
// checkpoint. Returns 0, or 128 + n when signal n has ended training; the state is saved then.
int train(Run& run);

}  // namespace dtl::trainer
