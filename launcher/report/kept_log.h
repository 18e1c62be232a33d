#pragma once
// KeptLog and LogReader: the kept output of a detached job, a file of entries, each a header line
// and its bytes. Readers can tell ranks, streams and dtlaunch's messages apart, and `less` can
// still show it. Headers: "o3 120": 120 bytes of rank 3's standard output; "e3 9": of its standard
// error; "s 40": a message of dtlaunch; "x 0": the job has ended with status 0 (no bytes follow).
// launcher/jobs and dtagent read it, also while it is written.

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

// The header line before an entry's bytes.
std::string header_of(const LogEntry& entry);

// Splits the bytes read so far, in pieces of any size, into entries. Throws Error(kBadInput) if the
// file is not a kept log; nothing can be read after that.
class LogReader {
 public:
  void feed(std::string_view bytes) { waiting_ += bytes; }
  std::optional<LogEntry> next();  // nullopt: more bytes are needed

 private:
  std::string waiting_;
  std::size_t at_ = 0;
};

// Appends entries, each with one writev(2), so readers see whole entries. A file that has grown to
// kMaxLogBytes becomes FOLDER/log.1 and replaces the previous one, so the last 256 MiB are always
// there. A full disk loses output but does not harm the job. After a loss, the next entry that fits
// is preceded by one that says how many bytes are missing and why.
class KeptLog {
 public:
  static constexpr std::int64_t kMaxLogBytes = 256 << 20;

  // The folder must exist, and only its user may have access. Throws Error(kCannotWrite).
  explicit KeptLog(std::string folder, std::int64_t max_bytes = kMaxLogBytes);
  void add(const LogEntry& entry);

 private:
  void open();
  bool append(const LogEntry& entry);  // false: not written, and problem_ says why

  std::string path_;
  std::int64_t max_bytes_;
  Fd file_;
  std::int64_t size_ = 0;
  std::size_t lost_bytes_ = 0;  // since the last written entry
  int problem_ = 0;             // errno of the last failed write
};

}  // namespace dtl
