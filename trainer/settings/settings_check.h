#pragma once
// Checks and defaults that involve several options. Part of parse_settings().

#include <set>
#include <string>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

// given: names of the options that the user set. Throws Error(kUsage).
void complete_settings(Settings& settings, const std::set<std::string>& given);

}  // namespace dtl::trainer
