#pragma once
// Training from its first step, or from a checkpoint, to its end: logging, evaluation, checkpoints,
// early stopping, and a clean end on SIGTERM.

#include "trainer/job/run_context.h"

namespace dtl::trainer {

// Collective. Leaves the last parameters, or those of the best checkpoint, in run.parameters.
// Returns 0, or 128 + n if signal n ended training; the state is saved then.
int train(Run& run);

}  // namespace dtl::trainer
