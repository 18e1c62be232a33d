#pragma once
// The options of dtagent, for --help and --completion. Pure.

#include <string>

#include "base/completion.h"

namespace dtl {

std::string help_text();
Completion own_completion();

}  // namespace dtl
