// Tells three layouts apart without a full parse: a list, an object with a list, one value per
// line. Elements stay bytes that the readers parse one by one, so a large file does not become a
// large tree.
#include "trainer/json/json_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "trainer/json/json_fault.h"
#include "trainer/json/json_scan.h"

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
  refuse_list(path, line_of(bytes, start + fault.at), fault.reason);
}

// The functions below expect text that check_whole() has accepted.

std::vector<JsonElement> elements_at(std::string_view bytes, std::size_t list) {
  std::vector<JsonElement> elements;
  // Count lines from element to element: counting from the start each time would be quadratic.
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

// An empty list counts: its reader reports that it is empty.
bool is_list_of_objects(std::string_view bytes, std::size_t at) {
  if (at == kNoJson || bytes[at] != '[') return false;
  const char first = bytes[skip_json_space(bytes, at + 1)];
  return first == '{' || first == ']';
}

// A command that reads the document as `d` and writes the value of `expression`.
std::string rewrite_command(const std::string& path, const std::string& expression) {
  return fmt::format(
      "python3 -c \"import json, sys; d = json.load(sys.stdin); json.dump({}, sys.stdout)\" <{} "
      ">NEW.json",
      expression, one_shell_word(path));
}

bool is_plain_key(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// Refuses tables in a layout that we do not read: {"train": [{..}, ..], ..}, or one list or object
// per column, as pandas writes it.
void refuse_other_layout(const std::string& path, std::string_view bytes, std::size_t start,
                         bool lists_in_rows) {
  const auto members = json_members(bytes, start);
  const int line = line_of(bytes, start);
  for (const JsonMember& member : members) {
    const std::size_t first = skip_json_space(bytes, member.value + 1);
    if (bytes[member.value] != '[' || bytes[first] != '{' || !is_plain_key(member.key)) continue;
    refuse_list(path, line, fmt::format("its rows are the list \"{}\" of an object", member.key),
                rewrite_command(path, fmt::format("d['{}']", member.key)));
  }
  const auto all_begin = [&](char bracket) {
    return !members.empty() &&
           std::all_of(members.begin(), members.end(),
                       [&](const JsonMember& each) { return bytes[each.value] == bracket; });
  };
  // pandas' orient="split".
  const std::size_t columns = find_json_value(bytes, start, "columns");
  const std::size_t data = find_json_value(bytes, start, "data");
  if (columns != kNoJson && data != kNoJson && bytes[data] == '[') {
    refuse_list(path, line, "it has the names of the columns apart from the rows",
                rewrite_command(path, "[dict(zip(d['columns'], row)) for row in d['data']]"));
  }
  const auto holds_list = [&](const JsonMember& each) {
    return bytes[skip_json_space(bytes, each.value + 1)] == '[';
  };
  const bool row = lists_in_rows && std::none_of(members.begin(), members.end(), holds_list);
  if (all_begin('[') && !row) {
    refuse_list(path, line, "it has a list for each column, not an object for each row",
                rewrite_command(path, "[dict(zip(d, row)) for row in zip(*d.values())]"));
  }
  if (all_begin('{')) {
    refuse_list(path, line, "it has an object for each column, not one for each row",
                rewrite_command(path,
                                "[dict(zip(d, row)) for row in zip(*(c.values() for c in "
                                "d.values()))]"));
  }
}

}  // namespace

std::optional<std::vector<JsonElement>> find_json_list(const std::string& path,
                                                       std::string_view bytes, bool lists_in_rows) {
  const std::size_t start = skip_json_space(bytes, bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  const std::string_view line = trim(bytes.substr(start, bytes.find('\n', start) - start));
  if (line.starts_with('[')) {
    check_whole(path, bytes, start);
    return elements_at(bytes, start);
  }
  if (!line.starts_with('{')) return std::nullopt;
  // Does the first line hold a row, or the beginning of a document?
  const bool one_line = skip_json_space(bytes, start + line.size()) == bytes.size();
  if (!one_line && Json::accept(line)) return std::nullopt;
  // The first line looks like a row but is invalid. The row reader's message is better.
  if (line.ends_with('}') && !Json::accept(bytes.substr(start))) return std::nullopt;
  check_whole(path, bytes, start);
  const std::size_t data = find_json_value(bytes, start, "data");
  if (is_list_of_objects(bytes, data)) return elements_at(bytes, data);
  refuse_other_layout(path, bytes, start, lists_in_rows);
  if (one_line) return std::nullopt;
  refuse_list(
      path, line_of(bytes, start),
      "it is one JSON object, not an object on each line, a list of objects or such a list as "
      "\"data\"",
      "head -c 400 " + one_shell_word(path));
}

}  // namespace dtl::trainer
