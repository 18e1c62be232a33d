#pragma once
// Writes a JSON value as YAML 1.2 that YAML 1.1 parsers read in the same way, because tools use
// either. Strings stay strings: a string that could be read as anything else is quoted. Scripts of
// several lines become readable block scalars. Pure.

#include <string>

namespace dtl {

// Objects keep their order. A member whose name begins with '#' becomes a comment, without its
// value. Throws Error(kUsage) for a string with control characters or with U+FFFD, which replaces
// invalid bytes.
std::string yaml_of(const std::string& json);

}  // namespace dtl
