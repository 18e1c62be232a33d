// A file is append-only for its readers: written bytes never change, except half an entry that did
// not fit, which is cut off again.
#include "launcher/report/kept_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/text.h"

namespace dtl {
namespace {

// Bounds for a file that is not a log: without them a reader would wait forever, or fill the
// memory.
constexpr std::size_t kMaxHeaderBytes = 40;
constexpr std::size_t kMaxEntryBytes = 16 << 20;  // a failure card is far smaller

[[noreturn]] void no_log(std::string_view header) {
  throw file_error("kept output", "cannot read",
                   fmt::format("'{}' is not the header of an entry",
                               printable(header.substr(0, kMaxHeaderBytes))),
                   "dtlaunch ps");
}

// The numbers of a header: "o3 120" -> 3 and 120, "s 40" -> 0 and 40.
LogEntry parse_header(std::string_view header, std::size_t& size) {
  const std::size_t blank = header.find(' ');
  if (header.empty() || blank == std::string_view::npos) no_log(header);
  const std::string_view rank_text = header.substr(1, blank - 1);
  const auto rank = rank_text.empty() ? 0 : parse_integer(rank_text, 0, kMaxRanks);
  const auto number = parse_integer(header.substr(blank + 1), 0, kMaxEntryBytes);
  if (!rank || !number) no_log(header);
  LogEntry entry;
  entry.rank = static_cast<int>(*rank);
  size = static_cast<std::size_t>(*number);
  if (header[0] == 'o') {
    entry.kind = LogEntry::Kind::kStdout;
  } else if (header[0] == 'e') {
    entry.kind = LogEntry::Kind::kStderr;
  } else if (header[0] == 'x') {
    entry.kind = LogEntry::Kind::kEnded;
    entry.status = static_cast<int>(*number);
    // The number of "x" is a status and not a size.
    size = 0;
  } else if (header[0] != 's') {
    no_log(header);
  }
  return entry;
}

}  // namespace

std::string header_of(const LogEntry& entry) {
  switch (entry.kind) {
    case LogEntry::Kind::kStdout:
      return fmt::format("o{} {}\n", entry.rank, entry.bytes.size());
    case LogEntry::Kind::kStderr:
      return fmt::format("e{} {}\n", entry.rank, entry.bytes.size());
    case LogEntry::Kind::kSaid:
      return fmt::format("s {}\n", entry.bytes.size());
    case LogEntry::Kind::kEnded:
      return fmt::format("x {}\n", entry.status);
  }
  return {};
}

std::optional<LogEntry> LogReader::next() {
  const std::string_view left = std::string_view(waiting_).substr(at_);
  const std::size_t line = left.find('\n');
  if (line == std::string_view::npos) {
    // No header is this long, so more input would not complete it.
    if (left.size() > kMaxHeaderBytes) no_log(left);
    // Only if more is needed: erasing after each entry would move the rest each time.
    waiting_.erase(0, std::exchange(at_, 0));
    return std::nullopt;
  }
  std::size_t size = 0;
  LogEntry entry = parse_header(left.substr(0, line), size);
  if (left.size() - line - 1 < size) {
    waiting_.erase(0, std::exchange(at_, 0));
    return std::nullopt;
  }
  entry.bytes = left.substr(line + 1, size);
  at_ += line + 1 + size;
  return entry;
}

KeptLog::KeptLog(std::string folder, std::int64_t max_bytes)
    : path_(std::move(folder) + "/" + kKeptLog), max_bytes_(max_bytes) {
  open();
  if (!file_.valid()) throw system_error(path_ + ": cannot keep output", Exit::kCannotWrite);
}

void KeptLog::open() {
  // O_NOFOLLOW: another user's symbolic link must not redirect the output.
  file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  problem_ = file_.valid() ? 0 : errno;
  size_ = file_.valid() ? ::lseek(file_.get(), 0, SEEK_END) : 0;
}

void KeptLog::add(const LogEntry& entry) {
  if (lost_bytes_ > 0) {
    LogEntry gap;
    gap.kind = LogEntry::Kind::kSaid;
    gap.bytes =
        fmt::format("{} bytes of output are lost here: {}", lost_bytes_, errno_text(problem_));
    if (append(gap)) lost_bytes_ = 0;
  }
  if (!append(entry)) lost_bytes_ += entry.bytes.size();
}

bool KeptLog::append(const LogEntry& entry) {
  const std::string header = header_of(entry);
  GatheredWrite text;
  text.add(header);
  text.add(entry.bytes);
  const auto size = static_cast<std::int64_t>(text.left());
  // An entry that alone exceeds the bound goes into an empty file.
  if (size_ > 0 && size_ + size > max_bytes_) {
    ::rename(path_.c_str(), (path_ + ".1").c_str());
    open();
  }
  // After a failure each entry tries again: the disk may have space again.
  if (!file_.valid()) open();
  if (!file_.valid()) return false;
  const int problem = text.write_some(file_.get());
  const auto written = size - static_cast<std::int64_t>(text.left());
  if (written == size) {
    size_ += written;
    return true;
  }
  problem_ = problem;
  if (written > 0 && ::ftruncate(file_.get(), size_) != 0) file_.reset();  // no half entries
  return false;
}

}  // namespace dtl
