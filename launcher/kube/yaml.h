#pragma once
// A value of JSON as YAML 1.2 that YAML 1.1 reads alike. Strings stay strings: those that could be
// taken for anything else are quoted, and scripts of several lines are block scalars. Pure.

#include <string>

namespace dtl {

// Objects keep their order. A member whose name begins with '#' is a comment, without its value.
// Throws Error(kUsage) for a string that is not text, or has U+FFFD in the place of what is not.
std::string yaml_of(const std::string& json);

}  // namespace dtl
