// Only regular files are checked: a pipe belongs to whoever has made it.
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

// The least trusted of the owner of a link and the owner of its file: a link's owner chooses what
// it leads to.
uid_t least_trusted_owner(const std::string& path, uid_t owner_of_file) {
  struct stat link {};
  const bool is_link = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  // A file that is not trusted is named by its own owner.
  return is_link && is_trusted(owner_of_file) ? link.st_uid : owner_of_file;
}

// Of a shell's command line, without its quotes, and with the home that stands for "~".
// It knows no $VARIABLE and no `command`: what these become only the shell knows.
std::string first_word(std::string_view text) {
  std::string word;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    // What ends a word for a shell, outside of quotes.
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
// everybody may not.
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

// Who may write a folder may put another file in the place of this one, unless the folder is
// sticky: then only the owner of a file may replace it.
void check_folders_above(const std::string& path, const std::string& kind) {
  namespace fs = std::filesystem;
  std::error_code error;
  // Both ways: a link may lie in a safe folder and lead to a file in one that is not.
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
  // A file that is not there is the shell's to report.
  if (word.find('/') == word.npos || !is_file(word, status)) return;
  check_trusted(word, status, kind);
  check_folders_above(word, kind);
}

}  // namespace dtl
