#pragma once
// --optim_args, "momentum=0.9,nesterov=true": options of single optimizers. A plain value. Pure.

#include "trainer/settings/settings.h"

namespace dtl::trainer {

struct OptimArgs {  // for sgd; other optimizers take none
  double momentum = 0, dampening = 0;
  bool nesterov = false;
};

// Throws Error(kUsage) for an unknown key of --optim's optimizer or an unusable value.
OptimArgs optim_args(const Settings& settings);

}  // namespace dtl::trainer
