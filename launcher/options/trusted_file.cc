// Checks only regular files: a pipe belongs to whoever made it.
#include "launcher/options/trusted_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {

namespace {

bool is_trusted(uid_t user) {
  return user == 0 || user == ::geteuid();
}

// The less trusted one of a link's owner and its file's owner: a link's owner chooses its target.
uid_t least_trusted_owner(const std::string& path, uid_t owner_of_file) {
  struct stat link {};
  const bool is_link = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  // An untrusted file is reported with its own owner.
  return is_link && is_trusted(owner_of_file) ? link.st_uid : owner_of_file;
}

// The first word of a shell's command line, without quotes and with "~" expanded. Does not handle
// $VARIABLE and `command`, which only the shell can resolve.
std::string first_word(std::string_view text) {
  std::string word;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    // Characters that end a word for a shell, outside quotes.
    if (quote == 0 && std::string_view(" \t\n;&|<>()").find(c) != std::string_view::npos) break;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && at + 1 < text.size()) {
      word += text[++at];
    } else {
      word += c;
    }
  }
  const char* home = std::getenv("HOME");
  return text.starts_with("~/") && home != nullptr ? home + word.substr(1) : word;
}

// Whoever writes it chooses where the job's commands and secrets go. A group may write it;
// everybody must not.
void check_trusted(const std::string& path, const struct stat& status, const std::string& kind) {
  const uid_t owner = least_trusted_owner(path, status.st_uid);
  if (!is_trusted(owner)) {
    throw file_error(printable(path), "",
                     fmt::format("this {} belongs to another user ({})", kind, owner),
                     fmt::format("cat {0}; cp {0} FILE, and that file", one_shell_word(path)));
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    throw file_error(printable(path), "", fmt::format("everybody may write this {}", kind),
                     "chmod o-w " + one_shell_word(path));
  }
}

// Whoever may write a folder can replace this file, unless the folder is sticky: then only the
// file's owner can.
void check_folders_above(const std::string& path, const std::string& kind) {
  namespace fs = std::filesystem;
  std::error_code error;
  // Both paths: a link in a safe folder may lead to a file in an unsafe one.
  for (const fs::path& file : {fs::absolute(path, error), fs::canonical(path, error)}) {
    fs::path folder = file.parent_path();
    for (; !folder.empty(); folder = folder == folder.root_path() ? "" : folder.parent_path()) {
      struct stat status {};
      if (::stat(folder.c_str(), &status) != 0 || (status.st_mode & S_IWOTH) == 0) continue;
      if ((status.st_mode & S_ISVTX) != 0) continue;
      throw file_error(
          printable(path), "",
          fmt::format("everybody may replace this {}, as everybody may write the folder {}", kind,
                      folder.string()),
          "chmod o-w " + one_shell_word(folder.string()));
    }
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
  const std::string word = first_word(trim(command));
  struct stat status {};
  // The shell reports a missing file.
  if (word.find('/') == word.npos || !is_file(word, status)) return;
  check_trusted(word, status, kind);
  check_folders_above(word, kind);
}

}  // namespace dtl
