// Tells three layouts apart without a parse of everything: a list, an object with a list, a value
// on each line. Elements stay bytes; the readers parse them one by one, so a large file does not
// become a large tree.
#include "trainer/files/json_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "trainer/files/json_fault.h"
#include "trainer/files/json_scan.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

int line_ends(std::string_view bytes) {
  return static_cast<int>(std::count(bytes.begin(), bytes.end(), '\n'));
}
int line_of(std::string_view bytes, std::size_t at) {
  return 1 + line_ends(bytes.substr(0, at));
}

[[noreturn]] void refuse_list(const std::string& path, int line, const std::string& reason,
                              const std::string& hint = "") {
  throw Error(Exit::kBadInput, fmt::format("{}:{}: cannot read the data set", path, line), reason,
              hint);
}

void check_whole(const std::string& path, std::string_view bytes, std::size_t start) {
  const std::string_view document = bytes.substr(start);
  if (Json::accept(document)) return;
  const JsonFault fault = find_json_fault(document);
  refuse_list(path, line_of(bytes, start + fault.at), fault.reason, fault.hint);
}

// The functions below read what check_whole() has accepted.

std::vector<JsonElement> elements_at(std::string_view bytes, std::size_t list) {
  std::vector<JsonElement> elements;
  // Lines are counted from element to element: from the start each time would be quadratic.
  int line = line_of(bytes, list);
  std::size_t counted = list;
  for (std::size_t at = skip_json_space(bytes, list + 1); bytes[at] != ']';) {
    line += line_ends(bytes.substr(counted, at - counted));
    counted = at;
    const std::size_t end = end_of_json_value(bytes, at);
    elements.push_back({at, end - at, line});
    at = skip_json_space(bytes, end);
    if (bytes[at] == ',') at = skip_json_space(bytes, at + 1);
  }
  return elements;
}

// An empty list counts, too: its reader says that it is empty.
bool is_list_of_objects(std::string_view bytes, std::size_t at) {
  if (at == kNoJson || bytes[at] != '[') return false;
  const char first = bytes[skip_json_space(bytes, at + 1)];
  return first == '{' || first == ']';
}

}  // namespace

std::optional<std::vector<JsonElement>> find_json_list(const std::string& path,
                                                       std::string_view bytes) {
  const std::size_t start = skip_json_space(bytes, bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  const std::string_view line = trim(bytes.substr(start, bytes.find('\n', start) - start));
  if (line.starts_with('[')) {
    check_whole(path, bytes, start);
    return elements_at(bytes, start);
  }
  if (!line.starts_with('{')) return std::nullopt;
  // A row, or the beginning of a document?
  const bool one_line = skip_json_space(bytes, start + line.size()) == bytes.size();
  if (!one_line && Json::accept(line)) return std::nullopt;
  // A first line that looks like a row but is broken: the reader of rows names it better.
  if (line.ends_with('}') && !Json::accept(bytes.substr(start))) return std::nullopt;
  check_whole(path, bytes, start);
  const std::size_t data = find_json_value(bytes, start, "data");
  if (is_list_of_objects(bytes, data)) return elements_at(bytes, data);
  if (one_line) return std::nullopt;
  refuse_list(path, line_of(bytes, start),
              "it is one JSON object, without a list of objects as \"data\"",
              "an object on each line, or one list of objects");
}

}  // namespace dtl::trainer
