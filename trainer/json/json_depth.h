#pragma once
// Measures how deep a JSON text nests. Call it before parsing: nlohmann-json copies and prints
// values recursively, so a few hundred kB of '[' would overflow the stack.

#include <string_view>

namespace dtl::trainer {

// The reason to use in an Error.
constexpr const char* kNestsTooDeep = "its lists and objects nest too deep";

// True if lists and objects nest more than 100 deep. The files that we read nest 10 deep.
bool nests_too_deep(std::string_view json);

}  // namespace dtl::trainer
