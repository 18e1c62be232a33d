// The lock is flock(2) on dttrain.lock; only the kernel's lock decides. The file's text, and its
// removal at the end, only inform people.
#include "trainer/files/folder_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/files/output_folder.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The ranks of a killed dtlaunch end within 0.3 s; the same command may be started again at once.
// A run that goes on holds the lock for hours, so that waiting longer would be in vain.
constexpr auto kHolderMayEnd = 2s;
constexpr auto kLook = 20ms;         // flock(2) has no deadline
constexpr auto kWaitUnsaid = 500ms;  // a wait that nobody notices needs no line

std::string cannot_write_to(const std::string& path) {
  return fmt::format("{}: cannot write the output", fs::path(path).parent_path().string());
}

// The text that the holder wrote. It may be empty if the holder has not written yet.
std::string holder_of(const Fd& file) {
  char text[256];
  const ssize_t bytes = ::pread(file.get(), text, sizeof text, 0);
  if (bytes <= 0) return "another run writes there";
  const std::string line = split(std::string(text, static_cast<std::size_t>(bytes)), '\n')[0];
  return fmt::format("another run writes there: {}", printable(line));
}

// Whether the path still names the open file. Between our open() and flock(), the holder may end
// and remove the file. A lock on the removed file would keep nobody out.
bool is_named(const Fd& file, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(file.get(), &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) : path_(fs::path(folder) / kLockFile) {
  std::error_code error;
  refuse_file_as_folder(folder);
  fs::create_directories(folder, error);
  if (error) throw Error(Exit::kCannotWrite, cannot_write_to(path_), error.message());
  do {  // repeat until we lock the file that the path names
    file_ = Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file_.valid()) throw system_error(cannot_write_to(path_), Exit::kCannotWrite);
    if (!take()) {
      file_.reset();
      return;
    }
  } while (!is_named(file_, path_));
  say_who();
}

FolderLock::~FolderLock() {
  // Remove the file before Fd closes it and frees the lock. Afterwards the path may name another
  // run's file.
  if (file_.valid()) ::unlink(path_.c_str());
}

// Returns false if the file system does not support locks.
bool FolderLock::take() {
  const auto began = std::chrono::steady_clock::now();
  bool said = false;
  while (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    const auto waited = std::chrono::steady_clock::now() - began;
    if (errno == EWOULDBLOCK && waited < kHolderMayEnd) {
      if (waited >= kWaitUnsaid && !std::exchange(said, true)) {
        log_notice(fmt::format("{}: waiting up to {} s for its end", holder_of(file_),
                               kHolderMayEnd.count()));
      }
      std::this_thread::sleep_for(kLook);
      continue;
    }
    if (errno == EWOULDBLOCK) {
      throw Error(Exit::kCannotWrite, cannot_write_to(path_), holder_of(file_),
                  "--output_dir " + one_shell_word(fs::path(path_).parent_path().string() + "-2"));
    }
    log_notice(fmt::format("{}: cannot lock: {}; start no other run in this folder", path_,
                           errno_text(errno)));
    ::unlink(path_.c_str());
    return false;
  }
  return true;
}

// Calls fsync, so that other hosts can read the text on NFS. Failures here do not affect the lock.
void FolderLock::say_who() const {
  const std::time_t now = std::time(nullptr);
  const std::string text = fmt::format("pid {} on {} since {:%Y-%m-%d %H:%M:%S %z}\n", ::getpid(),
                                       own_host_name(), fmt::localtime(now));
  const bool written = ::ftruncate(file_.get(), 0) == 0 &&
                       ::pwrite(file_.get(), text.data(), text.size(), 0) >= 0 &&
                       ::fsync(file_.get()) == 0;
  if (!written) log_debug(fmt::format("{}: {}", path_, errno_text(errno)));
}

}  // namespace dtl::trainer
