#include "launcher/job_token.h"

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
  ::explicit_bzero(value, std::strlen(value));
  ::unsetenv(name);
  return text;
}

std::optional<std::string> take_job_token() {
  const auto given = take_variable("DTL_TOKEN");
  if (const char* path = std::getenv("DTL_TOKEN_FILE"); path != nullptr && *path != '\0') {
    return parse_token(read_trusted_file(path, kMaxTokenBytes, "token"),
                       fmt::format("DTL_TOKEN_FILE={}", printable(path)));
  }
  if (given && !given->empty()) return parse_token(*given, "DTL_TOKEN");
  return std::nullopt;
}

}  // namespace dtl
