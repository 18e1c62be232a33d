#pragma once
// Finds the fault and its position in a text that is not JSON, in words for a message. Pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace dtl::trainer {

struct JsonFault {
  std::size_t at = 0;  // in the text
  std::string reason;
};

// For a text that nlohmann-json refuses. Refuses lone surrogates too, as Python's tokenizers do.
JsonFault find_json_fault(std::string_view text);

}  // namespace dtl::trainer
