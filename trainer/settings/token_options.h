#pragma once
// The options of token classification: rows for the option table.

#include <vector>

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

std::vector<OptionRow<Settings>> token_option_rows();

}  // namespace dtl::trainer
