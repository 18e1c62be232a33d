#pragma once
// Finds the fault in a text that is not JSON, and its place, in words for a message. Pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace dtl::trainer {

struct JsonFault {
  std::size_t at = 0;             // in the text
  std::string reason, hint = {};  // the hint may be empty
};

// For a text that nlohmann-json refuses. Like Python's tokenizers, it knows no half of a surrogate
// pair.
JsonFault find_json_fault(std::string_view text);

}  // namespace dtl::trainer
