// DIR may be anywhere, even in /tmp, where other users create and rename folders. So this walks a
// path name by name, each relative to the folder before, and follows links itself instead of
// leaving that to the kernel. Checking a whole path would prove nothing about a later open.
#include "agent/job/rank_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr int kMostLinks = 40;  // the kernel's limit
constexpr auto kBetweenComplaints = std::chrono::minutes(1);

Error refusal(const std::string& path, const std::string& reason) {
  return Error(Exit::kCannotWrite, path + ": cannot keep output", reason);
}

struct stat status_of(const Fd& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw refusal(path, errno_text(errno));
  return status;
}

// Opens a folder, or a link itself, by its name in another folder. Creates a missing folder. path:
// for error messages.
Fd open_name(const Fd& folder, const std::string& name, const std::string& path, mode_t mode) {
  constexpr int kAsItIs = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  constexpr int kFolder = kAsItIs | O_DIRECTORY;  // an automounter then mounts it
  Fd found(::openat(folder.get(), name.c_str(), kFolder));
  if (!found.valid() && errno == ENOENT) {
    // Several nodes may create it at the same time on a shared file system.
    if (::mkdirat(folder.get(), name.c_str(), mode) != 0 && errno != EEXIST) {
      throw refusal(path, errno_text(errno));
    }
    found = Fd(::openat(folder.get(), name.c_str(), kFolder));
  }
  // A link or a file: opened as itself, to be examined.
  if (!found.valid() && (errno == ENOTDIR || errno == ELOOP)) {
    found = Fd(::openat(folder.get(), name.c_str(), kAsItIs));
  }
  if (!found.valid()) throw refusal(path, errno_text(errno));
  return found;
}

// The target of a link; empty for anything else. Refuses a link unless root or this user owns it.
std::string target_of(const Fd& found, const std::string& path) {
  const struct stat status = status_of(found, path);
  if (!S_ISLNK(status.st_mode)) return {};
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    throw refusal(path, fmt::format("it is a link of another user ({})", status.st_uid));
  }
  char target[PATH_MAX];
  // An empty name means the opened link itself, which nobody can replace.
  const ssize_t size = ::readlinkat(found.get(), "", target, sizeof target);
  if (size <= 0) throw refusal(path, errno_text(errno));
  return {target, static_cast<std::size_t>(size)};
}

void prepend(std::deque<std::string>& names, const std::string& path) {
  const auto pieces = split(path, '/');
  names.insert(names.begin(), pieces.begin(), pieces.end());
}

// Whether files that we create here get the folder's owner. A file server may map root to another
// user, so root's own folder may seem to belong to somebody else.
bool makes_files_of(const Fd& folder, uid_t owner) {
  const std::string name = fmt::format(".probe.{}", ::getpid());
  const Fd probe(
      ::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  struct stat status {};
  const bool same = probe.valid() && ::fstat(probe.get(), &status) == 0 && status.st_uid == owner;
  if (probe.valid()) ::unlinkat(folder.get(), name.c_str(), 0);
  return same;
}

// Opens a folder by its absolute path, one name at a time.
Fd open_path(const std::string& path) {
  Fd at(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::deque<std::string> names;
  prepend(names, path);
  std::string walked;
  for (int links = 0; !names.empty();) {
    const std::string name = std::move(names.front());
    names.pop_front();
    if (name.empty()) continue;
    const std::string here = walked + "/" + name;
    Fd found = open_name(at, name, here, 0777);
    const std::string target = target_of(found, here);
    if (target.empty()) {
      at = std::move(found);
      walked = here;
      continue;
    }
    if (++links > kMostLinks) throw refusal(path, errno_text(ELOOP));
    prepend(names, target);
    // A relative target continues in the folder with the link, an absolute one at the root.
    if (!target.starts_with('/')) continue;
    at = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    walked.clear();
  }
  return at;
}

// Opens a folder, creating it with mode 0700; refuses a link.
Fd open_private(const Fd& parent, const std::string& name, const std::string& path) {
  Fd found = open_name(parent, name, path, 0700);
  const mode_t kind = status_of(found, path).st_mode & S_IFMT;
  if (kind != S_IFDIR) throw refusal(path, kind == S_IFLNK ? "it is a link" : "it is not a folder");
  return found;
}

}  // namespace

std::optional<std::string> RankFolder::complaint(const Error& error,
                                                 std::chrono::milliseconds now) {
  if (told_ && now - *told_ < kBetweenComplaints) return std::nullopt;
  told_ = now;
  return error.attempted() + ": " + error.reason() + "; the job goes on";
}

RankFolder::RankFolder(std::string directory, std::string name)
    : directory_(std::move(directory)), name_(std::move(name)), path_(directory_ + "/" + name_) {}

void RankFolder::open() {
  if (folder_.valid()) return;
  Fd folder = open_private(open_path(directory_), name_, path_);
  const struct stat status = status_of(folder, path_);
  if (status.st_uid != ::geteuid() && !makes_files_of(folder, status.st_uid)) {
    throw refusal(path_, fmt::format("it belongs to another user ({})", status.st_uid));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) throw refusal(path_, "others may write there");
  folder_ = std::move(folder);
}

}  // namespace dtl
