// A new file appears under its name only when complete: temporary file, fsync, rename. The random
// name and O_EXCL keep writers apart and avoid links that others made in a shared folder.
#include "base/files/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytes = 8;  // random; each takes two digits
constexpr std::string_view kEnd = ".tmp";
// The temporary name must fit too, so it uses only the beginning of a long name.
constexpr std::size_t kMostName = 255 - 1 - 2 * kNameBytes - kEnd.size();  // NAME_MAX
constexpr std::time_t kAbandoned = 60;  // seconds: a writer locks its file long before

Error failure(const std::string& path, int error_number) {
  errno = error_number;
  return cannot_write(path, system_error(""));
}

// The number in "/dev/fd/1", or that of "/dev/stdout". Does not follow other users' links.
std::optional<int> own_descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    if (const auto number = parse_integer(path.substr(folder.size()), 0, INT32_MAX)) {
      return static_cast<int>(*number);
    }
  }
  return std::nullopt;
}

// Devices and pipes must not be replaced by a file.
bool is_written_in_place(const std::string& path) {
  struct stat status {};
  return own_descriptor(path) || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

void refuse_folders_and_disks(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  const bool folder = S_ISDIR(status.st_mode);
  if (!folder && !S_ISBLK(status.st_mode)) return;
  throw Error(Exit::kCannotWrite, printable(path) + ": cannot write",
              folder ? "a directory, not a file" : "a disk, not a file",
              folder ? "ls " + one_shell_word(path) : "ls -l " + one_shell_word(path));
}

// Fails for a named pipe without a reader, instead of waiting for one.
Fd open_in_place(const std::string& path) {
  // Duplicates our descriptor: opening /dev/stdout again would write from the file's beginning, and
  // fails for a socket. From 3 up, to leave the standard descriptors alone.
  const std::optional<int> own = own_descriptor(path);
  Fd file(own ? ::fcntl(*own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
              : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) throw failure(path, errno);
  // Clears O_NONBLOCK: only opening must not wait.
  if (!own) ::fcntl(file.get(), F_SETFL, O_APPEND);
  return file;
}

// The part of a file's name that its temporary name begins with.
std::string beginning_of_name(const std::string& path) {
  return fs::path(path).filename().string().substr(0, kMostName);
}

// NAME.0123456789abcdef.tmp
bool is_temporary_of(std::string_view name, std::string_view of) {
  if (!name.starts_with(of) || !name.ends_with(kEnd)) return false;
  name.remove_prefix(of.size());
  name.remove_suffix(kEnd.size());
  return name.size() == 1 + 2 * kNameBytes && name[0] == '.' &&
         name.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

// Whether its writer was killed: a living writer holds a lock.
bool is_abandoned(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  return file.valid() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         // Only our own and old files: between open() and flock() a writer has no lock yet.
         status.st_uid == ::geteuid() && status.st_mtime < std::time(nullptr) - kAbandoned &&
         ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_abandoned(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const std::string name = beginning_of_name(path);
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, failed)) {
    if (is_temporary_of(entry.path().filename().string(), name) && is_abandoned(entry.path())) {
      ::unlink(entry.path().c_str());
    }
  }
}

}  // namespace

NewFile::NewFile(const std::string& path, unsigned mode) : path_(path) {
  refuse_folders_and_disks(path_);
  if (is_written_in_place(path_)) {
    file_ = open_in_place(path_);
    return;
  }
  // First, so that files of killed processes do not fill the folder.
  remove_abandoned(path_);
  const std::string random = to_hex(random_bytes(kNameBytes, "name a new file"));
  temporary_ = fs::path(path_).parent_path() /
               fmt::format("{}.{}{}", beginning_of_name(path_), random, kEnd);
  file_ = Fd(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file_.valid()) {
    temporary_.clear();
    throw failure(path_, errno);
  }
  // On file systems without locks this fails, and so does flock() in is_abandoned(): leftovers then
  // stay.
  ::flock(file_.get(), LOCK_EX | LOCK_NB);
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::keep() {
  if (temporary_.empty()) return;
  // Otherwise a power failure may leave an empty file under the new name.
  if (::fsync(file_.get()) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw failure(path_, errno);
  }
  temporary_.clear();
}

void check_new_file(const std::string& path) {
  if (!is_written_in_place(path)) {
    // Creates and removes a file: only that detects quotas, read-only mounts and missing
    // permissions.
    const NewFile file(path, 0600);
    return;
  }
  refuse_folders_and_disks(path);
  if (!own_descriptor(path) && ::access(path.c_str(), W_OK) != 0) throw failure(path, errno);
}

namespace {

void write_whole_file(const std::string& path, std::string_view bytes, unsigned mode) {
  NewFile file(path, mode);
  try {
    write_all(file.fd(), bytes);
  } catch (const Error& error) {
    throw cannot_write(path, error);
  }
  file.keep();
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view bytes) {
  write_whole_file(path, bytes, 0666);
}

void write_private_file_atomically(const std::string& path, std::string_view bytes) {
  write_whole_file(path, bytes, 0600);
}

}  // namespace dtl
