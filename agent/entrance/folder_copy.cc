// Order matters. The record names new paths before they get their place, and old ones until they
// are gone; so a sync that is killed leaves nothing that the next one does not know. Removing comes
// before placing, because a file may take the place of a folder, and the other way round.
#include "agent/entrance/folder_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRoomBytes = 256 << 10;
constexpr std::size_t kMaxRecordBytes = kMaxRequestBytes;
constexpr std::int64_t kSecond = 1'000'000'000;  // in nanoseconds
constexpr std::size_t kPerProgress = 1000;       // entries; NFS renames 1,000 files in 2 s

Error cannot_place(const std::string& path) {
  return system_error(printable(path) + ": cannot write", Exit::kCannotWrite);
}

Error in_the_way(const std::string& path, const std::string& what) {
  return Error(Exit::kCannotWrite, printable(path), what + " is in the way, and not from dtlaunch",
               "ls -ld " + one_shell_word(path));
}

bool look_at_entry(const std::string& path, struct stat& status) {
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw system_error(printable(path) + ": cannot read", Exit::kCannotWrite);
}

// Some file systems store whole seconds only.
bool is_same_time(const struct stat& status, std::int64_t listed_ns) {
  const std::int64_t here = std::max<std::int64_t>(
      std::int64_t{status.st_mtim.tv_sec} * kSecond + status.st_mtim.tv_nsec, 0);
  return here == listed_ns || (here % kSecond == 0 && here / kSecond == listed_ns / kSecond);
}

bool is_link_to(const std::string& path, const std::string& target) {
  std::string here(PATH_MAX, '\0');
  const ssize_t size = ::readlink(path.c_str(), here.data(), here.size());
  return size >= 0 && here.compare(0, static_cast<std::size_t>(size), target) == 0;
}

std::string recorded(const FolderEntry& entry) {
  return entry.kind == EntryKind::kEmptyFolder ? entry.path + "/" : entry.path;
}

void write_everything(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot_place(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A record of a killed or another version's sync is worth no error: what it does not name, stays.
std::set<std::string> read_record(const std::string& path) {
  std::set<std::string> paths;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return paths;
  for (std::string& name : split(read_file(path, kMaxRecordBytes), '\0')) {
    const std::string_view plain =
        std::string_view(name).substr(0, name.size() - name.ends_with('/'));
    if (is_inner_path(plain)) paths.insert(std::move(name));
  }
  return paths;
}

}  // namespace

FolderCopy::FolderCopy(std::string root) : root_(std::move(root)) {
  own_ = root_ + "/" + std::string(kSyncFolder);
}

FolderCopy::~FolderCopy() {
  if (lock_.valid()) remove_arriving();
}

bool FolderCopy::lock() {
  if (::mkdir(own_.c_str(), 0700) != 0 && errno != EEXIST) throw cannot_place(own_);
  struct stat status {};
  if (!look_at_entry(own_, status) || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
    throw in_the_way(own_, "a file, or a folder of another user,");
  }
  const std::string path = own_ + "/lock";
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) throw cannot_place(path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    throw system_error(path + ": cannot lock", Exit::kCannotWrite);
  }
  lock_ = std::move(file);
  remove_arriving();  // of a killed sync
  if (::mkdir((own_ + "/new").c_str(), 0700) != 0) throw cannot_place(own_ + "/new");
  brought_ = read_record(own_ + "/record");
  return true;
}

std::vector<std::size_t> FolderCopy::missing(const FolderList& entries,
                                             const std::function<void()>& progress) {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const FolderEntry& entry = entries[i];
    if (i % kPerProgress == 0) progress();
    struct stat status {};
    const bool is_there = has_parents(entry.path) && look_at_entry(place(entry.path), status);
    if (is_there && S_ISDIR(status.st_mode) && entry.kind != EntryKind::kEmptyFolder &&
        std::none_of(brought_.lower_bound(entry.path + "/"), brought_.end(),
                     [&](const std::string& path) { return path.starts_with(entry.path + "/"); })) {
      throw in_the_way(place(entry.path), "a folder");
    }
    if (is_there && !S_ISDIR(status.st_mode) && entry.kind == EntryKind::kEmptyFolder &&
        !brought_.contains(entry.path)) {
      throw in_the_way(place(entry.path), "a file");
    }
    if (entry.kind != EntryKind::kFile) continue;
    const bool is_same = is_there && S_ISREG(status.st_mode) &&
                         static_cast<std::uint64_t>(status.st_size) == entry.bytes &&
                         is_same_time(status, entry.modified_ns);
    if (!is_same) missing.push_back(i);
  }
  return missing;
}

// False: the path is missing, because one of its folders is, or will be removed. A link there could
// lead anywhere.
bool FolderCopy::has_parents(const std::string& path) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string parent = path.substr(0, end);
    if (folders_.contains(parent)) continue;
    struct stat status {};
    if (!look_at_entry(place(parent), status)) return false;
    if (!S_ISDIR(status.st_mode)) {
      if (brought_.contains(parent)) return false;
      throw in_the_way(place(parent), S_ISLNK(status.st_mode) ? "a link" : "a file");
    }
    folders_.insert(parent);
  }
  return true;
}

std::string FolderCopy::arriving(std::size_t index) const {
  return fmt::format("{}/new/{}", own_, index);
}

void FolderCopy::take(const FolderEntry& entry, std::size_t index,
                      const std::function<void(char* room, std::size_t bytes)>& read) {
  const std::string path = arriving(index);
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) throw cannot_place(path);
  std::string room(kRoomBytes, '\0');
  for (std::uint64_t left = entry.bytes; left > 0;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, room.size()));
    read(room.data(), size);
    write_everything(file.get(), std::string_view(room).substr(0, size), path);
    left -= size;
  }
  const timespec modified{static_cast<time_t>(entry.modified_ns / kSecond),
                          static_cast<long>(entry.modified_ns % kSecond)};
  const timespec times[] = {modified, modified};
  if (::fchmod(file.get(), entry.mode & 0777) != 0 || ::futimens(file.get(), times) != 0) {
    throw cannot_place(path);
  }
}

void FolderCopy::put_in_place(const FolderList& entries, const std::function<void()>& progress) {
  std::set<std::string> all = brought_, now;
  for (const FolderEntry& entry : entries) now.insert(recorded(entry));
  all.insert(now.begin(), now.end());
  write_record(all);
  remove_gone(entries);
  progress();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    put_entry(entries[i], i);
    if (i % kPerProgress == 0) progress();
  }
  write_record(now);
  brought_ = std::move(now);
}

void FolderCopy::remove_gone(const FolderList& entries) {
  std::set<std::string> stays;
  for (const FolderEntry& entry : entries) stays.insert(recorded(entry));
  // In reverse order a folder comes after what is in it.
  for (auto at = brought_.rbegin(); at != brought_.rend(); ++at) {
    if (stays.contains(*at)) continue;
    std::string path = *at;
    bool is_safe = true;  // no link on the way has replaced a folder
    for (std::size_t end = path.find('/'); end != std::string::npos && end + 1 < path.size();
         end = path.find('/', end + 1)) {
      struct stat status {};
      is_safe &= look_at_entry(place(path.substr(0, end)), status) && S_ISDIR(status.st_mode);
    }
    if (!is_safe) continue;
    // What a user has made a folder meanwhile, stays.
    const bool is_folder = path.ends_with('/');
    if (is_folder) path.pop_back();
    const int failed = is_folder ? ::rmdir(place(path).c_str()) : ::unlink(place(path).c_str());
    if (failed != 0 && errno != ENOENT && errno != EISDIR && errno != ENOTEMPTY &&
        errno != EEXIST && errno != ENOTDIR) {
      throw system_error(printable(place(path)) + ": cannot remove", Exit::kCannotWrite);
    }
    // Folders that this leaves empty go, too.
    for (fs::path parent = fs::path(path).parent_path();
         !parent.empty() && ::rmdir(place(parent).c_str()) == 0; parent = parent.parent_path()) {
    }
  }
}

void FolderCopy::make_parents(const std::string& path) const {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string parent = place(path.substr(0, end));
    if (::mkdir(parent.c_str(), 0777) != 0 && errno != EEXIST) throw cannot_place(parent);
  }
}

void FolderCopy::put_entry(const FolderEntry& entry, std::size_t index) {
  const std::string path = place(entry.path);
  switch (entry.kind) {
    case EntryKind::kEmptyFolder:
      make_parents(entry.path + "/");
      return;
    case EntryKind::kLink:
      if (!is_link_to(path, entry.target)) put_link(entry, index);
      return;
    case EntryKind::kFile: {
      const std::string from = arriving(index);
      struct stat status {};
      if (look_at_entry(from, status)) return give_name(from, entry.path);
      const unsigned mode = entry.mode & 0777;
      if (look_at_entry(path, status) && (status.st_mode & 0777) != mode &&
          ::chmod(path.c_str(), mode) != 0) {
        throw cannot_place(path);
      }
    }
  }
}

void FolderCopy::put_link(const FolderEntry& link, std::size_t index) const {
  const std::string from = arriving(index);
  if (::symlink(link.target.c_str(), from.c_str()) != 0) throw cannot_place(from);
  give_name(from, link.path);
}

void FolderCopy::give_name(const std::string& from, const std::string& path) const {
  make_parents(path);
  const std::string to = place(path);
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  // An empty folder is as good as nothing.
  if (errno == EISDIR && ::rmdir(to.c_str()) == 0 && ::rename(from.c_str(), to.c_str()) == 0) {
    return;
  }
  throw cannot_place(to);
}

void FolderCopy::write_record(const std::set<std::string>& paths) const {
  std::string text;
  for (const std::string& path : paths) text.append(path) += '\0';
  const std::string to = own_ + "/record", from = to + ".new";
  {
    const Fd file(
        ::open(from.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) throw cannot_place(from);
    write_everything(file.get(), text, from);
  }
  if (::rename(from.c_str(), to.c_str()) != 0) throw cannot_place(to);
}

void FolderCopy::remove_arriving() const {
  std::error_code ignored;
  fs::remove_all(own_ + "/new", ignored);
}

}  // namespace dtl
