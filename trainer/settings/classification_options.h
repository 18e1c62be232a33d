#pragma once
// The options of classification that are not among model and data: rows of the table, and the
// rules between them. Pure.

#include <vector>

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

std::vector<OptionRow<Settings>> classification_options();

// Throws Error(kUsage) for values that conflict or cannot be parsed, as far as the data does not
// decide.
void check_classification_options(const Settings& settings);

}  // namespace dtl::trainer
