#pragma once
// How deep a JSON text nests, to be asked before it is parsed: nlohmann-json copies and prints
// values by recursion, so that a file of a few hundred kB of '[' would end the program.

#include <string_view>

namespace dtl::trainer {

// What an Error gives as the reason.
constexpr const char* kNestsTooDeep = "its lists and objects nest too deep";

// True for more than 100 lists and objects inside each other; the files that we read have 10.
bool nests_too_deep(std::string_view json);

}  // namespace dtl::trainer
