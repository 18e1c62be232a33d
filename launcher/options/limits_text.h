#pragma once
// The text of --show-limits. Pure.

#include <string>

namespace dtl {

std::string limits_text();

}  // namespace dtl
