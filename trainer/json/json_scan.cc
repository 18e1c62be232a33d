// Callers pass text that a parser has accepted. So only values that may end the text are checked
// against its end.
#include "trainer/json/json_scan.h"

#include <algorithm>

namespace dtl::trainer {
namespace {

// A backslash escapes the next character, so \" does not end the string.
std::size_t end_of_text(std::string_view bytes, std::size_t quote) {
  std::size_t at = quote + 1;
  while (bytes[at] != '"') at += bytes[at] == '\\' ? 2 : 1;
  return at + 1;
}

}  // namespace

std::size_t skip_json_space(std::string_view bytes, std::size_t at) {
  return std::min(bytes.find_first_not_of(" \t\r\n", at), bytes.size());
}

std::size_t end_of_json_value(std::string_view bytes, std::size_t at) {
  if (bytes[at] == '"') return end_of_text(bytes, at);
  if (bytes[at] != '{' && bytes[at] != '[') {
    return std::min(bytes.find_first_of(" \t\r\n,]}", at), bytes.size());
  }
  // Count both kinds of brackets together: the parser has checked that they match.
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

std::vector<JsonMember> json_members(std::string_view bytes, std::size_t at) {
  std::vector<JsonMember> members;
  at = skip_json_space(bytes, at + 1);
  while (bytes[at] != '}') {
    const std::size_t key_end = end_of_text(bytes, at);
    const std::string_view key = bytes.substr(at + 1, key_end - at - 2);
    at = skip_json_space(bytes, skip_json_space(bytes, key_end) + 1);  // after the colon
    members.push_back({key, at});
    at = skip_json_space(bytes, end_of_json_value(bytes, at));
    if (bytes[at] == ',') at = skip_json_space(bytes, at + 1);
  }
  return members;
}

std::size_t find_json_value(std::string_view bytes, std::size_t at, std::string_view key) {
  // Compare keys as spelled in the file. A key with an escape is not found; the message then names
  // only the file.
  for (const JsonMember& member : json_members(bytes, at)) {
    if (member.key == key) return member.value;
  }
  return kNoJson;
}

}  // namespace dtl::trainer
