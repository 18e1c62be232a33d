#pragma once
// Options of masked language modelling, with run_mlm.py's names.

#include <vector>

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

std::vector<OptionRow<Settings>> masked_option_rows();

}  // namespace dtl::trainer
