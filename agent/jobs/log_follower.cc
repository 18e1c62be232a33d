// inotify wakes the follower when the log grows, but does not tell that the launcher has died, so
// that is checked periodically. A rotation renames the log to log.1 and begins a new one.
#include "agent/jobs/log_follower.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/machine/job_record.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr int kCheckMs = 500;  // check for a dead launcher; its writes wake us at once

// The other end sends nothing that matters; only its end counts.
bool hung_up(int input) {
  pollfd end{input, POLLIN, 0};
  char unwanted[64];
  return ::poll(&end, 1, 0) > 0 && ::read(input, unwanted, sizeof unwanted) <= 0;
}

}  // namespace

LogFollower::LogFollower(std::string folder) : folder_(std::move(folder)) {
  // Before opening the files, so that no change is missed.
  changes_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ::inotify_add_watch(changes_.get(), folder_.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  open_older();
  if (!log_.valid() && !open_log()) {
    throw Error(
        Exit::kBadInput, "no output was kept here", errno_text(errno),
        "the output of jobs started with --detach is kept on the machine that launched them");
  }
  for (const RecordFile& file : read_records(folder_)) launcher_ = file.record.process;
}

void LogFollower::open_older() {
  log_ = Fd(::open((folder_ + "/" + kKeptLog + ".1").c_str(), O_RDONLY | O_CLOEXEC));
}

bool LogFollower::open_log() {
  Fd next(::open((folder_ + "/" + kKeptLog).c_str(), O_RDONLY | O_CLOEXEC));
  if (!next.valid()) return false;
  log_ = std::move(next);
  return true;
}

// Whether the log's name now belongs to another file than the open one.
bool LogFollower::rotated() const {
  struct stat reading {
  }, named{};
  return ::fstat(log_.get(), &reading) == 0 &&
         ::stat((folder_ + "/" + kKeptLog).c_str(), &named) == 0 && reading.st_ino != named.st_ino;
}

// The file that follows the open one. After a single rotation that is the new log. After two it is
// the older file: the open one has no name any more.
bool LogFollower::open_next() {
  Fd read = std::move(log_);
  if (!open_log()) {
    log_ = std::move(read);
    return false;
  }
  Fd newest = std::move(log_);
  // Looked at after the newest one was opened: if it is the one read, nothing is between them.
  open_older();
  struct stat reading {
  }, older{};
  const bool follows = log_.valid() && ::fstat(read.get(), &reading) == 0 &&
                       ::fstat(log_.get(), &older) == 0 && reading.st_ino != older.st_ino;
  if (!follows) log_ = std::move(newest);
  return true;
}

void LogFollower::skip() {
  open_log();
  ::lseek(log_.get(), 0, SEEK_END);
}

namespace {

// Identifies a file, also against later ones: inodes are reused, but not with the same birth time.
// Without birth times on the file system, uses only the inode. 0: there is no file.
std::uint64_t identity(const Fd& file) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // spreads the bits; any odd number
  struct stat plain {};
  if (!file.valid() || ::fstat(file.get(), &plain) != 0) return 0;
  struct statx status {};
  status.stx_ino = plain.st_ino;  // used if statx is refused
  ::statx(file.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status);
  std::uint64_t birth = 0;
  if ((status.stx_mask & STATX_BTIME) != 0) {
    birth = static_cast<std::uint64_t>(status.stx_btime.tv_sec) * 1'000'000'000 +
            status.stx_btime.tv_nsec;
  }
  // Mixed twice: files born at the same moment may have neighbouring inodes. Shifted, as places are
  // parsed as positive 63-bit numbers.
  return ((status.stx_ino ^ birth * kMix) * kMix) >> 1;
}

}  // namespace

std::optional<LogPlace> parse_place(const std::string& text) {
  const auto words = split(text, ':');
  if (words.size() != 2) return std::nullopt;
  const auto file = parse_integer(words[0], 0, INT64_MAX);
  const auto offset = parse_integer(words[1], 0, INT64_MAX);
  if (!file || !offset) return std::nullopt;
  return LogPlace{static_cast<std::uint64_t>(*file), static_cast<std::uint64_t>(*offset)};
}

bool LogFollower::go_on_from(LogPlace place) {
  for (const bool older : {true, false}) {
    if (older) open_older();
    if (!older && !open_log()) break;
    struct stat status {};
    if (identity(log_) != place.file || ::fstat(log_.get(), &status) != 0) continue;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (place.offset > size) {  // continues beyond a rotation
      place.offset -= size;
      if (!older || !open_log() || ::fstat(log_.get(), &status) != 0) break;
      if (place.offset > static_cast<std::uint64_t>(status.st_size)) break;
    }
    ::lseek(log_.get(), static_cast<off_t>(place.offset), SEEK_SET);
    return true;
  }
  // A gap: start at the beginning of all kept output.
  open_older();
  if (!log_.valid()) open_log();
  return false;
}

LogPlace LogFollower::place() const {
  return {identity(log_), static_cast<std::uint64_t>(::lseek(log_.get(), 0, SEEK_CUR))};
}

void LogFollower::send(int output) {
  std::array<char, 64 << 10> buffer;
  for (;;) {
    // Checked before reading: so the old file is read to its end before the next one.
    const bool is_last = !rotated();
    for (;;) {
      const ssize_t size = ::read(log_.get(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      write_all(output, {buffer.data(), static_cast<std::size_t>(size)});
    }
    if (is_last || !open_next()) return;
  }
}

bool LogFollower::wait(int input) {
  if (last_round_ || hung_up(input)) return false;
  pollfd events[] = {{changes_.get(), POLLIN, 0}, {input, POLLIN, 0}};
  ::poll(events, 2, kCheckMs);
  std::array<char, 4096> notices;
  while (::read(changes_.get(), notices.data(), notices.size()) > 0) {
  }
  // After the wait: one more round sends the launcher's last output.
  last_round_ = !is_running(launcher_);
  return true;
}

}  // namespace dtl
