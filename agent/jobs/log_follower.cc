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
#include "base/job_record.h"

namespace dtl {
namespace {

constexpr int kCheckMs = 500;  // whether the launcher still lives; its writes wake us at once

bool hung_up(int input) {
  pollfd end{input, POLLIN, 0};
  char unwanted[64];
  return ::poll(&end, 1, 0) > 0 && ::read(input, unwanted, sizeof unwanted) <= 0;
}

}  // namespace

LogFollower::LogFollower(std::string folder) : folder_(std::move(folder)) {
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

// The log's name now belongs to another file than the one being read.
bool LogFollower::rotated() const {
  struct stat reading {
  }, named{};
  return ::fstat(log_.get(), &reading) == 0 &&
         ::stat((folder_ + "/" + kKeptLog).c_str(), &named) == 0 && reading.st_ino != named.st_ino;
}

void LogFollower::skip() {
  open_log();
  ::lseek(log_.get(), 0, SEEK_END);
}

void LogFollower::send(int output) {
  std::array<char, 64 << 10> buffer;
  for (;;) {
    const bool is_last = !rotated();
    for (;;) {
      const ssize_t size = ::read(log_.get(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      write_all(output, {buffer.data(), static_cast<std::size_t>(size)});
    }
    if (is_last || !open_log()) return;
  }
}

bool LogFollower::wait(int input) {
  if (last_round_ || hung_up(input)) return false;
  pollfd events[] = {{changes_.get(), POLLIN, 0}, {input, POLLIN, 0}};
  ::poll(events, 2, kCheckMs);
  std::array<char, 4096> notices;
  while (::read(changes_.get(), notices.data(), notices.size()) > 0) {
  }
  last_round_ = !is_running(launcher_);  // what it wrote last is there by now
  return true;
}

}  // namespace dtl
