#pragma once
// Inputs for JSON readers that single-byte mutations rarely find.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl::fuzz {

// Copies of `seed`, each with one value replaced by 100,000 nested lists: code that copies or
// prints it recursively overflows the stack. None if the seed is not a JSON object or list.
std::vector<std::string> nested_inputs(const std::string& seed);

// `text`, or one line of it, with one value removed or replaced: by another of its values or an
// unusual one (2^64, -1, 1e300, an empty list, ..). Deterministic in the number. Returns `text` if
// it is not JSON.
std::string with_other_value(const std::string& text, std::uint32_t random);

}  // namespace dtl::fuzz
