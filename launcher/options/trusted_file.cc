#include "launcher/options/trusted_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {

namespace {

// Who writes it chooses where the job's commands and secrets go.
void check_trusted(const std::string& path, const struct stat& status, const std::string& kind) {
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    throw Error(Exit::kBadInput, path,
                fmt::format("this {} belongs to another user ({})", kind, status.st_uid),
                "read it, then use a copy of your own");
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    throw Error(Exit::kBadInput, path, fmt::format("everybody may write this {}", kind),
                "chmod o-w " + path);
  }
}

bool is_file(const std::string& path, struct stat& status) {
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

std::string read_trusted_file(const std::string& path, std::size_t limit_bytes,
                              const std::string& kind) {
  struct stat status {};
  if (is_file(path, status)) check_trusted(path, status, kind);
  return read_file(path, limit_bytes);
}

void check_trusted_command(const std::string& command, const std::string& kind) {
  const std::string_view text = trim(command);
  const std::string word(text.substr(0, text.find_first_of(" \t\n;&|<>()")));
  struct stat status {};
  if (word.find('/') != word.npos && is_file(word, status)) check_trusted(word, status, kind);
}

}  // namespace dtl
