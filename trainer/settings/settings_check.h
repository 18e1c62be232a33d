#pragma once
// What follows from several options together: defaults that depend on others, and combinations that
// make no sense. Part of parse_settings().

#include <set>
#include <string>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

// given: the names of the options that somebody wrote. Throws Error(kUsage).
void complete_settings(Settings& settings, const std::set<std::string>& given);

}  // namespace dtl::trainer
