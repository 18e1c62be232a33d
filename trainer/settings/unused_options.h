#pragma once
// Options that a user gave and that change nothing in this run: each gets a line, since somebody
// expects something of it. Part of parse_settings(). Pure.

#include <set>
#include <string>
#include <vector>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

// given: names of the options that the user set, as in files. The settings are complete.
std::vector<std::string> unused_options(const Settings& settings,
                                        const std::set<std::string>& given);

}  // namespace dtl::trainer
