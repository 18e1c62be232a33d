#pragma once
// Inputs of JSON readers that mutations of single bytes hardly find.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl::fuzz {

// For each value of `seed`, the same with a list of 100,000 lists in its place: what copies or
// prints it by recursion runs out of stack. None where the seed is no JSON object or list.
std::vector<std::string> nested_inputs(const std::string& seed);

// `text`, or one line of it, with one of its values replaced by another one of its own or by one
// that may surprise (2^64, -1, 1e300, an empty list, ..), or left out. The same for the same
// number; `text` where neither is JSON.
std::string with_other_value(const std::string& text, std::uint32_t random);

}  // namespace dtl::fuzz
