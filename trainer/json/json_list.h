#pragma once
// The rows of a JSON file that is one document: [{..}, ..] or {"data": [{..}, ..], ..}. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

struct JsonElement {
  std::size_t begin = 0, size = 0;  // bytes of the file
  int line = 0;                     // where it begins, counted from 1
};

// Returns nothing if the file has one value per line. Throws Error(kBadInput) with file:line for a
// document that is not JSON in UTF-8 or has no list. lists_in_rows: an object of which all values
// are lists of texts or numbers is a row, not a table with a list per column.
std::optional<std::vector<JsonElement>> find_json_list(const std::string& path,
                                                       std::string_view bytes,
                                                       bool lists_in_rows = false);

}  // namespace dtl::trainer
