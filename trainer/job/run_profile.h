#pragma once
// What step_profile.json says of a run: its shape and what its steps cost and sent. Rank 0 only.

#include <string>

#include "trainer/job/run_context.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

// The text of step_profile.json; empty if the run had too few steps for it.
std::string profile_text(const Run& run, const TrainSettings& settings, const Trainer& trainer);

}  // namespace dtl::trainer
