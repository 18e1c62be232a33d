// Positions for messages. nlohmann-json does not keep positions, so this finds values again by
// their keys.
#include "trainer/json/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "trainer/json/json_depth.h"
#include "trainer/json/json_fault.h"
#include "trainer/json/json_scan.h"

namespace dtl::trainer {
namespace {

constexpr const char* kMark = "\xEF\xBB\xBF";  // byte order mark; some editors write it

// Columns are counted in characters.
std::string place_of(const std::string& path, std::string_view bytes, std::size_t at) {
  const std::string_view before = bytes.substr(0, std::min(at, bytes.size()));
  const std::size_t start = before.rfind('\n') + 1;  // of the current line
  const auto is_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return fmt::format("{}:{}:{}", path, 1 + std::count(before.begin(), before.end(), '\n'),
                     1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start),
                                       before.end(), is_character));
}

}  // namespace

std::string read_json_text(const std::string& path, std::size_t limit_bytes,
                           const JsonComplaint& complaint) {
  std::string bytes = read_regular_file(path, limit_bytes);
  if (nests_too_deep(bytes)) {
    throw Error(complaint.status, fmt::format("{}: {}", path, complaint.attempted), kNestsTooDeep);
  }
  return bytes;
}

void refuse_json(const std::string& path, std::string_view bytes, const JsonComplaint& complaint) {
  std::size_t at = skip_json_space(bytes, bytes.starts_with(kMark) ? 3 : 0);
  std::string reason = "it is not a JSON object, {\"key\": value, ..}";
  if (!nlohmann::json::accept(bytes)) {
    const JsonFault fault = find_json_fault(bytes);
    at = std::max(at, fault.at);
    reason = fault.reason;
  }
  throw Error(complaint.status,
              fmt::format("{}: {}", place_of(path, bytes, at), complaint.attempted), reason,
              fmt::format("python3 -m json.tool {}", one_shell_word(path)));
}

std::string json_place(const std::string& path, std::string_view bytes,
                       std::initializer_list<std::string_view> keys) {
  std::size_t at = skip_json_space(bytes, bytes.starts_with(kMark) ? 3 : 0);
  for (const std::string_view key : keys) {
    if (bytes[at] != '{') return path;
    at = find_json_value(bytes, at, key);
    if (at == kNoJson) return path;
  }
  return place_of(path, bytes, at);
}

}  // namespace dtl::trainer
