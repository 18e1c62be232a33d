#include "agent/cores/user_name.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {

std::string user_name(uid_t user) {
  constexpr std::size_t kMostBytes = 16 << 20, kMostNameBytes = 255;
  constexpr std::size_t kName = 0, kUser = 2;  // fields of passwd(5)
  try {
    for (const std::string& line : split(read_regular_file("/etc/passwd", kMostBytes), '\n')) {
      const std::vector<std::string> fields = split(line, ':');
      if (fields.size() <= kUser || fields[kUser] != std::to_string(user)) continue;
      return fields[kName].size() <= kMostNameBytes ? fields[kName] : "";
    }
  } catch (const Error&) {
    // Without the file users have numbers.
  }
  return {};
}

}  // namespace dtl
