#pragma once
// Files that are one JSON object: their bytes, and places in them for messages. The callers parse
// them (nlohmann-json is in no header).

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dtl::trainer {

// What a message says besides the place and the fault.
struct JsonComplaint {
  std::string attempted = "cannot read it";  // behind the place: "config.json:3:7: cannot read it"
  Exit status = Exit::kBadInput;
};

// A file that may be parsed: it does not nest too deep. Throws Error naming the file.
std::string read_json_text(const std::string& path, std::size_t limit_bytes,
                           const JsonComplaint& complaint);

// Throws Error for a text that is not a JSON object, naming file, line and column.
[[noreturn]] void refuse_json(const std::string& path, std::string_view bytes,
                              const JsonComplaint& complaint);

// "config.json:3:7", the place of the value of the last key, each key being one of the object
// before it; the file alone where there is no such value. For a text that is a JSON object.
std::string json_place(const std::string& path, std::string_view bytes,
                       std::initializer_list<std::string_view> keys);

}  // namespace dtl::trainer
