#pragma once
// A whole run: prepare on rank 0, share, train, evaluate, predict, write.

#include "trainer/settings/settings.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Returns the exit status: 0, or 128 + n when signal n ended training after its state was saved.
// Throws Error.
int run_job(Settings settings, Ranks& group);

}  // namespace dtl::trainer
