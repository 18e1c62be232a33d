#pragma once
// The lines that training prints before its first step, worded as in Hugging Face's trainer.

#include "trainer/job/run_context.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

void say_banner(const Run& run, const TrainSettings& settings);

}  // namespace dtl::trainer
