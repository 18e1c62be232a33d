#pragma once
// Options of the tasks whose examples have candidates: multiple choice and reranking.

#include <vector>

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

std::vector<OptionRow<Settings>> candidate_option_rows();

}  // namespace dtl::trainer
