// The rank may have been killed while it wrote, or may have written anything else, so each step
// checks its input.
#include "launcher/session/error_file.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kLines = 20;  // as many as of standard error

using Json = nlohmann::json;

// {"message": {"message": "...", "extraInfo": {"py_callstack": "...", ...}}}, or a message alone.
std::string text_of(const Json& file) {
  if (!file.is_object() || !file.contains("message")) return {};
  const Json& message = file["message"];
  if (message.is_string()) return message.get<std::string>();
  if (!message.is_object()) return {};
  if (message.contains("extraInfo") && message["extraInfo"].is_object()) {
    const Json& info = message["extraInfo"];
    if (info.contains("py_callstack") && info["py_callstack"].is_string()) {
      return info["py_callstack"].get<std::string>();
    }
  }
  const bool has_text = message.contains("message") && message["message"].is_string();
  return has_text ? message["message"].get<std::string>() : std::string();
}

}  // namespace

std::vector<std::string> traceback_of(const std::string& error_file) {
  // false: a bad file gives a discarded value and no exception.
  const Json file = Json::parse(error_file, nullptr, false);
  if (file.is_discarded()) return {};
  std::vector<std::string> lines;
  for (const std::string& line : split(text_of(file), '\n')) {
    if (!line.empty()) lines.push_back(line);
  }
  // Python puts the innermost call and the exception last.
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return lines;
}

}  // namespace dtl
