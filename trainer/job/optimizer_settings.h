#pragma once
// What the options say of optimizer and learning rate, in the terms of the training itself.

#include <cstdint>

#include "trainer/settings/settings.h"
#include "trainer/step/optimizer.h"

namespace dtl::trainer {

// total_steps: of the run. Throws Error(kUsage) as parse_settings() would have.
OptimizerSettings optimizer_settings(const Settings& settings, std::int64_t total_steps);

}  // namespace dtl::trainer
