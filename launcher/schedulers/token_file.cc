// The mutex guards the path: the step's thread may remove the file while it is replaced.
#include "launcher/schedulers/token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kNameBegins = ".dtlaunch-token-";
constexpr std::size_t kNameBytes = 8;  // random: unique and not guessable

// Returns why the file could not be written; empty: it was.
std::string write_new(const std::string& folder, const std::string& path,
                      const std::string& token) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return errno_text(errno);
  if (!S_ISDIR(status.st_mode)) return "it is not a folder";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write there";
  // O_EXCL and O_NOFOLLOW: the name is new, so an existing file belongs to somebody else.
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                       S_IRUSR | S_IWUSR));
  if (!file.valid()) return errno_text(errno);
  try {
    write_all(file.get(), token + "\n");
    if (::fsync(file.get()) != 0) throw system_error(path);  // for network file systems
  } catch (const Error& error) {
    ::unlink(path.c_str());
    return error.reason();
  }
  return {};
}

}  // namespace

std::vector<std::string> shared_folders(const Variables& environment) {
  std::vector<std::string> folders;
  for (const std::string_view wanted : {"PBS_O_WORKDIR", "HOME"}) {
    for (const auto& [name, value] : environment) {
      if (name == wanted && value.starts_with('/')) folders.push_back(value);
    }
  }
  return folders;
}

std::string TokenFile::write(const std::vector<std::string>& folders, const std::string& token) {
  // Before the lock, because remove() takes it.
  remove();
  const std::lock_guard lock(mutex_);
  std::string reasons;
  for (const std::string& folder : folders) {
    const std::string path =
        fmt::format("{}/{}{}", folder, kNameBegins,
                    to_hex(random_bytes(kNameBytes, "name the file of the job's token")));
    const std::string why = write_new(folder, path, token);
    if (why.empty()) {
      path_ = path;
      return path;
    }
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", folder, why);
  }
  throw Error(
      Exit::kCannotWrite, "token of the job: cannot give it to the nodes",
      reasons.empty() ? std::string("neither PBS_O_WORKDIR nor HOME is set") : reasons,
      "(umask 077; openssl rand -hex 32 >FILE); export DTL_TOKEN_FILE=FILE, in a folder that "
      "all nodes see");
}

void TokenFile::remove() {
  const std::lock_guard lock(mutex_);
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

bool is_token_file(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with(kNameBegins);
}

}  // namespace dtl
