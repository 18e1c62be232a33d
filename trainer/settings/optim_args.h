#pragma once
// --optim_args, "momentum=0.9,nesterov=true": what an optimizer takes besides the options of all.
// A plain value. Pure.

#include "trainer/settings/settings.h"

namespace dtl::trainer {

struct OptimArgs {  // of sgd; the others take none
  double momentum = 0, dampening = 0;
  bool nesterov = false;
};

// Throws Error(kUsage) for a key that --optim does not have and for a value that it cannot use.
OptimArgs optim_args(const Settings& settings);

}  // namespace dtl::trainer
