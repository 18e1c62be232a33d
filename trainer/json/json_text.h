#pragma once
// Reads files that are one JSON object, and gives positions in them for messages. Callers parse the
// text, because nlohmann-json must not be in a header.

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dtl::trainer {

// The parts of a message after the position.
struct JsonComplaint {
  std::string attempted = "cannot read it";  // "config.json:3:7: cannot read it"
  Exit status = Exit::kBadInput;
};

// Reads a file and checks that it does not nest too deep to parse. Throws Error naming the file.
std::string read_json_text(const std::string& path, std::size_t limit_bytes,
                           const JsonComplaint& complaint);

// Throws Error for a text that is not a JSON object, naming file, line and column.
[[noreturn]] void refuse_json(const std::string& path, std::string_view bytes,
                              const JsonComplaint& complaint);

// "config.json:3:7": the position of a value. Each key is looked up in the object that the previous
// key names. Only the file if there is no such value. The text must be a JSON object.
std::string json_place(const std::string& path, std::string_view bytes,
                       std::initializer_list<std::string_view> keys);

}  // namespace dtl::trainer
