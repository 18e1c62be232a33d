#pragma once
// KeptLog and LogReader: the kept output of a detached job. It is a file of entries, each a header
// line and its bytes, so that ranks, streams and dtlaunch's own words can be told apart when it is
// read again, and `less` can still read it. Headers: "o3 120" 120 bytes of rank 3's standard
// output, "e3 9" of its standard error, "s 40" what dtlaunch said, "x 0" the job has ended with
// status 0 (and no bytes follow). launcher/jobs and dtagent read it, also while it is written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace dtl {

struct LogEntry {
  enum class Kind { kStdout, kStderr, kSaid, kEnded };
  Kind kind = Kind::kSaid;
  int rank = 0;    // kStdout, kStderr
  int status = 0;  // kEnded
  std::string bytes;
};

// What is written before an entry's bytes.
std::string header_of(const LogEntry& entry);

// Cuts what has been read into entries, in whatever pieces it comes. Throws Error(kBadInput) when
// it is not a kept log; nothing can be read after that.
class LogReader {
 public:
  void feed(std::string_view bytes) { waiting_ += bytes; }
  std::optional<LogEntry> next();  // nullopt: more bytes are needed

 private:
  std::string waiting_;
  std::size_t at_ = 0;
};

// Appends entries, each in one writev(2), so a reader sees whole entries. When the file has grown
// to kMaxLogBytes it becomes FOLDER/log.1, in place of the one before; so the last 256 MiB are
// always there. A full disk costs output, never the job. Where bytes are lost, the next entry that
// finds room is preceded by one that says how many and why.
class KeptLog {
 public:
  static constexpr std::int64_t kMaxLogBytes = 256 << 20;

  // Throws Error(kCannotWrite).
  // The folder must exist, and be its user's alone.
  explicit KeptLog(std::string folder, std::int64_t max_bytes = kMaxLogBytes);
  void add(const LogEntry& entry);

 private:
  void open();
  bool append(const LogEntry& entry);  // false: not written, and problem_ says why

  std::string path_;
  std::int64_t max_bytes_;
  Fd file_;
  std::int64_t size_ = 0;
  std::size_t lost_bytes_ = 0;  // since the last entry that was written
  int problem_ = 0;             // errno of the last one that was not
};

}  // namespace dtl
