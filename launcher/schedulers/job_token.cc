// Removes DTL_TOKEN even if the file overrides it, so that no rank inherits it.
#include "launcher/schedulers/job_token.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "launcher/join/token.h"
#include "launcher/options/trusted_file.h"

namespace dtl {

std::optional<std::string> take_variable(const char* name) {
  char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string text = value;
  // unsetenv(3) leaves the bytes in memory, where /proc/PID/environ shows them.
  ::explicit_bzero(value, std::strlen(value));
  ::unsetenv(name);
  return text;
}

std::string job_token_file() {
  const char* path = std::getenv("DTL_TOKEN_FILE");
  return path == nullptr ? std::string() : std::string(path);
}

std::string read_token_file(const std::string& path, const std::string& where) {
  return parse_token(read_trusted_file(path, kMaxTokenBytes, "token"), where);
}

std::optional<std::string> take_job_token() {
  const auto given = take_variable("DTL_TOKEN");
  if (const std::string path = job_token_file(); !path.empty()) {
    return read_token_file(path, fmt::format("DTL_TOKEN_FILE={}", printable(path)));
  }
  if (given && !given->empty()) return parse_token(*given, "DTL_TOKEN");
  return std::nullopt;
}

}  // namespace dtl
