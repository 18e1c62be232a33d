#pragma once
// A JSON value as YAML 1.2 that YAML 1.1 reads alike, since tools with either parser read
// manifests. Strings stay strings: whatever could be taken for anything else is quoted. Scripts of
// several lines become block scalars, which people can read. Pure.

#include <string>

namespace dtl {

// Objects keep their order. A member whose name begins with '#' becomes a comment, without its
// value. Throws Error(kUsage) for a string that is not text or contains U+FFFD, which stands for
// bytes that were none.
std::string yaml_of(const std::string& json);

}  // namespace dtl
