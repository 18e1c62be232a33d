#pragma once
// Translates options for optimizer and learning rate into OptimizerSettings.

#include <cstdint>

#include "trainer/settings/settings.h"
#include "trainer/step/optimizer.h"

namespace dtl::trainer {

// total_steps: of the whole run. Throws Error(kUsage) for the same faults as parse_settings().
OptimizerSettings optimizer_settings(const Settings& settings, std::int64_t total_steps);

}  // namespace dtl::trainer
