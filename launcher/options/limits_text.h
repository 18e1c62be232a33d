#pragma once
// The text of --show-limits: the waits and bounds of base/limits.h that a user may notice, each
// with its value and meaning. Pure.

#include <string>

namespace dtl {

std::string limits_text();

}  // namespace dtl
