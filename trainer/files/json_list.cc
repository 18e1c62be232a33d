#include "trainer/files/json_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kNowhere = std::string_view::npos;

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

std::size_t skip_space(std::string_view bytes, std::size_t at) {
  return std::min(bytes.find_first_not_of(" \t\r\n", at), bytes.size());
}

void check_whole(const std::string& path, std::string_view bytes, std::size_t start) {
  const std::string_view document = bytes.substr(start);
  if (Json::accept(document)) return;
  try {
    const Json refused = Json::parse(document);
  } catch (const Json::parse_error& error) {
    refuse_list(path, line_of(bytes, start + error.byte - 1), "it is not JSON in UTF-8");
  } catch (const Json::exception&) {
    refuse_list(path, line_of(bytes, start), "a number in it is too large");
  }
}

// The functions below read what check_whole() has accepted.

std::size_t end_of_text(std::string_view bytes, std::size_t quote) {
  std::size_t at = quote + 1;
  while (bytes[at] != '"') at += bytes[at] == '\\' ? 2 : 1;
  return at + 1;
}

std::size_t end_of_value(std::string_view bytes, std::size_t at) {
  if (bytes[at] == '"') return end_of_text(bytes, at);
  if (bytes[at] != '{' && bytes[at] != '[') {
    return std::min(bytes.find_first_of(" \t\r\n,]}", at), bytes.size());
  }
  int depth = 0;
  do {
    at = bytes.find_first_of("\"[]{}", at);
    if (bytes[at] == '"') {
      at = end_of_text(bytes, at);
      continue;
    }
    depth += bytes[at] == '[' || bytes[at] == '{' ? 1 : -1;
    ++at;
  } while (depth > 0);
  return at;
}

// Where the value of a key of the object at `at` begins.
std::size_t find_value(std::string_view bytes, std::size_t at, std::string_view key) {
  at = skip_space(bytes, at + 1);
  while (bytes[at] != '}') {
    const std::size_t key_end = end_of_text(bytes, at);
    const bool found = bytes.substr(at + 1, key_end - at - 2) == key;
    at = skip_space(bytes, skip_space(bytes, key_end) + 1);  // behind the colon
    if (found) return at;
    at = skip_space(bytes, end_of_value(bytes, at));
    if (bytes[at] == ',') at = skip_space(bytes, at + 1);
  }
  return kNowhere;
}

std::vector<JsonElement> elements_at(std::string_view bytes, std::size_t list) {
  std::vector<JsonElement> elements;
  int line = line_of(bytes, list);
  std::size_t counted = list;
  for (std::size_t at = skip_space(bytes, list + 1); bytes[at] != ']';) {
    line += line_ends(bytes.substr(counted, at - counted));
    counted = at;
    const std::size_t end = end_of_value(bytes, at);
    elements.push_back({at, end - at, line});
    at = skip_space(bytes, end);
    if (bytes[at] == ',') at = skip_space(bytes, at + 1);
  }
  return elements;
}

bool is_list_of_objects(std::string_view bytes, std::size_t at) {
  if (at == kNowhere || bytes[at] != '[') return false;
  const char first = bytes[skip_space(bytes, at + 1)];
  return first == '{' || first == ']';
}

}  // namespace

std::optional<std::vector<JsonElement>> find_json_list(const std::string& path,
                                                       std::string_view bytes) {
  const std::size_t start = skip_space(bytes, bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  const std::string_view line = trim(bytes.substr(start, bytes.find('\n', start) - start));
  if (line.starts_with('[')) {
    check_whole(path, bytes, start);
    return elements_at(bytes, start);
  }
  if (!line.starts_with('{')) return std::nullopt;
  // A row, or the beginning of a document?
  const bool one_line = skip_space(bytes, start + line.size()) == bytes.size();
  if (!one_line && Json::accept(line)) return std::nullopt;
  if (line.ends_with('}') && !Json::accept(bytes.substr(start))) return std::nullopt;
  check_whole(path, bytes, start);
  const std::size_t data = find_value(bytes, start, "data");
  if (is_list_of_objects(bytes, data)) return elements_at(bytes, data);
  if (one_line) return std::nullopt;
  refuse_list(path, line_of(bytes, start),
              "it is one JSON object, without a list of objects as \"data\"",
              "an object on each line, or one list of objects");
}

}  // namespace dtl::trainer
