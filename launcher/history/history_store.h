#pragma once
// HistoryStore: the jobs of this machine and user in one SQLite file, one for each host name, since
// homes are shared. Many launchers write it at once; each change is one short transaction that a
// killed process leaves whole. Throws Error as Database does, and kVersion for a file of a newer
// dtlaunch, which stays untouched. One thread at a time.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "launcher/history/database.h"
#include "launcher/history/history_record.h"

namespace dtl {

// Below state_folder(); not created.
std::string history_path();

// Which file a name stands for now.
struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};

struct HistoryQuery {
  std::int64_t since_ms = 0;
  bool failed = false;
  std::optional<std::size_t> most;  // the newest ones; absent: all
};

class HistoryStore {
 public:
  // To record jobs: makes the file and its folder. It and save() move a damaged file aside and make
  // a new one; notice() then says so.
  static HistoryStore for_writing(const std::string& path, std::chrono::milliseconds patience);
  // To show jobs. nullopt if no job has been recorded yet.
  static std::optional<HistoryStore> for_reading(const std::string& path);

  // Adds the job, or replaces what is known of it. With details: also card, plan and report.
  void save(const HistoryRecord& record, bool details);
  void set_ranks(const std::string& job_id, int ranks);

  // Removes old jobs that do not run, a few with each transaction, so that other launchers wait for
  // milliseconds only. Stops when `enough` returns true.
  void prune(const HistoryLimits& limits, std::int64_t now_ms, const std::function<bool()>& enough);
  // Whether the log has grown so large that it must be written into the file: tidy() does that, and
  // returns freed pages to the disk. It waits for the disk, but no other process does.
  bool is_untidy() const;
  void tidy();

  // Oldest first, without details.
  std::vector<HistoryRecord> list(const HistoryQuery& query) const;
  // The jobs whose ids begin with `prefix`: up to `most` ids. Empty prefix: the newest job.
  std::vector<std::string> find(const std::string& prefix, std::size_t most) const;
  std::optional<HistoryRecord> read(const std::string& job_id) const;  // with details

  const std::string& notice() const { return notice_; }

 private:
  HistoryStore(std::string path, FileId file, Database database);
  void prepare_tables();
  void write(const HistoryRecord& record, bool details);
  void begin_anew(const Error& damage);
  // The oldest jobs that a limit excludes and that do not run.
  std::vector<std::int64_t> victims(const HistoryLimits& limits, std::int64_t now_ms) const;

  std::string path_;
  FileId file_;
  std::chrono::milliseconds patience_{0};
  Database database_;
  std::string notice_;
};

}  // namespace dtl
