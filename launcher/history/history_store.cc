// Two tables: `jobs` has what a list shows, `details` what may be large, so that lists do not read
// reports. PRAGMA user_version is the version of these tables.
#include "launcher/history/history_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::int64_t kDayMs = 86'400'000;
// A transaction removes this many jobs at most: a few milliseconds.
constexpr std::size_t kBatch = 50;
// Each short job writes some 40 KiB: one in 400 of them writes the log into the file.
constexpr std::uintmax_t kLongLog = 16 << 20;
constexpr auto kPause = std::chrono::milliseconds(5);  // between attempts, as SQLite's own
constexpr auto kReadPatience = std::chrono::seconds(2);

// Without an index that a query needs, 100,000 jobs would take seconds.
constexpr const char* kTables =
    "CREATE TABLE jobs("
    " number INTEGER PRIMARY KEY, job TEXT NOT NULL UNIQUE, process TEXT NOT NULL,"
    " began INTEGER NOT NULL, took INTEGER, status INTEGER, cause TEXT NOT NULL,"
    " ranks INTEGER NOT NULL, hosts TEXT NOT NULL, command TEXT NOT NULL, folder TEXT NOT NULL,"
    " tags TEXT NOT NULL, detached INTEGER NOT NULL, log_directory TEXT NOT NULL,"
    " kept_folder TEXT NOT NULL, report_file TEXT NOT NULL, outer_job TEXT NOT NULL);"
    "CREATE INDEX jobs_by_begin ON jobs(began);"
    "CREATE INDEX jobs_not_completed ON jobs(began) WHERE status IS NOT 0;"
    "CREATE TABLE details("
    " number INTEGER PRIMARY KEY, card TEXT NOT NULL, plan TEXT NOT NULL, report TEXT NOT NULL);";

constexpr const char* kColumns =
    "job, process, began, took, status, cause, ranks, hosts, command, folder, tags, detached,"
    " log_directory, kept_folder, report_file, outer_job";

std::vector<std::string> words_of(const std::string& joined) {
  return joined.empty() ? std::vector<std::string>() : split(joined, ',');
}

HistoryRecord record_of(const Statement& row) {
  HistoryRecord record;
  record.job_id = row.text(0);
  record.process = parse_process_id(row.text(1)).value_or(ProcessId{});
  record.began_ms = row.number(2);
  record.took_ms = row.perhaps_number(3);
  record.exit_status = static_cast<int>(row.number(4));
  record.cause = row.text(5);
  record.ranks = static_cast<int>(row.number(6));
  record.hosts = words_of(row.text(7));
  record.command = row.text(8);
  record.folder = row.text(9);
  record.tags = words_of(row.text(10));
  record.detached = row.number(11) != 0;
  record.log_directory = row.text(12);
  record.kept_folder = row.text(13);
  record.report_file = row.text(14);
  record.outer_job = row.text(15);
  return record;
}

FileId identify_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

// Waits a moment for another launcher, which may be stopped while it holds the lock.
bool lock_within(const Fd& lock, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

// Renames the damaged file unless another launcher has already done so. False: it is still there.
bool move_aside(const std::string& path, const FileId& damaged,
                std::chrono::milliseconds patience) {
  const Fd lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid() || !lock_within(lock, patience)) return false;
  if (identify_file(path) != damaged) return true;
  // The log belongs to the file. Only the last damaged file is kept.
  for (const char* part : {"-wal", "-shm", "-journal"}) {
    const std::string from = path + part, to = path + ".damaged" + part;
    ::unlink(to.c_str());
    ::rename(from.c_str(), to.c_str());
  }
  return ::rename(path.c_str(), (path + ".damaged").c_str()) == 0;
}

std::string notice_of(const std::string& path, const Error& damage) {
  return message_text(path,
                      fmt::format("history of jobs: {}; moved to {}.damaged, and a new one begins",
                                  damage.reason(), path),
                      {});
}

}  // namespace

std::string history_path() {
  return state_folder() + "/history/" + own_host_name() + ".db";
}

HistoryStore::HistoryStore(std::string path, FileId file, Database database)
    : path_(std::move(path)), file_(file), database_(std::move(database)) {}

HistoryStore HistoryStore::for_writing(const std::string& path,
                                       std::chrono::milliseconds patience) {
  make_private_folder(std::filesystem::path(path).parent_path().string());
  const auto end = std::chrono::steady_clock::now() + patience;
  std::string notice;
  for (;;) {
    FileId file = identify_file(path);
    try {
      Database database(path, Database::Mode::kWrite, patience);
      if (file == FileId{}) file = identify_file(path);  // it was just made
      HistoryStore store(path, file, std::move(database));
      store.patience_ = patience;
      store.prepare_tables();
      store.notice_ = notice;
      return store;
    } catch (const Error& error) {
      // While one process makes the file, SQLite refuses others without waiting.
      const bool is_late = std::chrono::steady_clock::now() >= end;
      if (error.status() == Exit::kTryAgain && !is_late) {
        std::this_thread::sleep_for(kPause);
        continue;
      }
      // Not twice: a disk that damages new files must not keep the job.
      const bool is_damaged = error.status() == Exit::kBadInput && notice.empty();
      if (!is_damaged || !move_aside(path, file, patience)) throw;
      notice = notice_of(path, error);
    }
  }
}

std::optional<HistoryStore> HistoryStore::for_reading(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  HistoryStore store(path, {}, Database(path, Database::Mode::kRead, kReadPatience));
  const std::int64_t version = store.database_.number("PRAGMA user_version");
  if (version > kSchema) {
    throw Error(Exit::kVersion, path + ": history of jobs", "a newer dtlaunch has written it",
                "dtlaunch --version");
  }
  if (version == 0) return std::nullopt;  // its first launcher is just making it
  return store;
}

void HistoryStore::prepare_tables() {
  std::int64_t version = database_.number("PRAGMA user_version");
  if (version > kSchema) {
    throw Error(Exit::kVersion, path_ + ": history of jobs",
                "a newer dtlaunch has written it, and this job is not recorded there",
                "dtlaunch --version");
  }
  // Only a crash of the machine can lose jobs of the last seconds in a log; the file stays whole.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const bool has_log = !is_network_folder(folder);
  if (version == 0) database_.run("PRAGMA auto_vacuum = INCREMENTAL");  // before the first table
  database_.run(has_log ? "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                          "PRAGMA journal_size_limit = 1048576"
                        : "PRAGMA journal_mode = TRUNCATE");
  database_.run("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY");
  if (version == kSchema) return;
  Transaction change(database_);
  // Another launcher may have been faster.
  version = database_.number("PRAGMA user_version");
  if (version != 0) return;
  database_.run(kTables);
  database_.run(fmt::format("PRAGMA user_version = {}", kSchema).c_str());
  change.commit();
}

void HistoryStore::save(const HistoryRecord& record, bool details) {
  try {
    write(record, details);
  } catch (const Error& error) {
    // Opening reads only the first pages.
    if (error.status() != Exit::kBadInput || !notice_.empty()) throw;
    begin_anew(error);
    write(record, details);
  }
}

void HistoryStore::begin_anew(const Error& damage) {
  if (!move_aside(path_, file_, patience_)) throw damage;
  const std::string notice = notice_of(path_, damage);
  *this = for_writing(path_, patience_);
  notice_ = notice;
}

void HistoryStore::write(const HistoryRecord& record, bool details) {
  Transaction change(database_);
  const std::optional<std::int64_t> status =
      record.took_ms ? std::optional<std::int64_t>(record.exit_status) : std::nullopt;
  database_
      .prepare(fmt::format("INSERT INTO jobs({}) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,"
                           "?14,?15,?16) ON CONFLICT(job) DO UPDATE SET took=excluded.took,"
                           " status=excluded.status, cause=excluded.cause, ranks=excluded.ranks,"
                           " hosts=excluded.hosts",
                           kColumns))
      .bind(record.job_id)
      .bind(to_text(record.process))
      .bind(record.began_ms)
      .bind(record.took_ms)
      .bind(status)
      .bind(record.cause)
      .bind(record.ranks)
      .bind(join(record.hosts, ","))
      .bind(record.command)
      .bind(record.folder)
      .bind(join(record.tags, ","))
      .bind(std::int64_t{record.detached})
      .bind(record.log_directory)
      .bind(record.kept_folder)
      .bind(record.report_file)
      .bind(record.outer_job)
      .run();
  if (details) {
    database_
        .prepare("INSERT OR REPLACE INTO details SELECT number,?2,?3,?4 FROM jobs WHERE job=?1")
        .bind(record.job_id)
        .bind(record.card)
        .bind(record.plan)
        .bind(record.report)
        .run();
  }
  change.commit();
}

void HistoryStore::set_ranks(const std::string& job_id, int ranks) {
  database_.prepare("UPDATE jobs SET ranks=?1 WHERE job=?2").bind(ranks).bind(job_id).run();
}

std::vector<std::int64_t> HistoryStore::victims(const HistoryLimits& limits,
                                                std::int64_t now_ms) const {
  const std::int64_t used =
      (database_.number("PRAGMA page_count") - database_.number("PRAGMA freelist_count")) *
      database_.number("PRAGMA page_size");
  const bool is_large = used > limits.bytes;
  const std::int64_t oldest = now_ms - limits.days * kDayMs;
  std::vector<std::int64_t> numbers;
  Statement row =
      database_.prepare(fmt::format("SELECT {}, number FROM jobs ORDER BY began", kColumns));
  while (numbers.size() < kBatch && row.step()) {
    const HistoryRecord record = record_of(row);
    if (!is_large && record.began_ms >= oldest) break;
    const HistoryStatus status = status_of(record);
    const bool may_run = status == HistoryStatus::kRunning || status == HistoryStatus::kUnknown;
    // A launcher of another container is not waited for forever.
    if (may_run && record.began_ms >= oldest - limits.days * kDayMs) continue;
    if (status != HistoryStatus::kRunning) numbers.push_back(row.number(16));
  }
  return numbers;
}

void HistoryStore::prune(const HistoryLimits& limits, std::int64_t now_ms,
                         const std::function<bool()>& enough) {
  do {
    // Chosen before the write begins, so that other launchers do not wait for that.
    const std::vector<std::int64_t> numbers = victims(limits, now_ms);
    if (numbers.empty()) return;
    Transaction change(database_);
    for (const std::int64_t number : numbers) {
      database_.prepare("DELETE FROM jobs WHERE number=?1").bind(number).run();
      database_.prepare("DELETE FROM details WHERE number=?1").bind(number).run();
    }
    change.commit();
  } while (!enough());
}

bool HistoryStore::is_untidy() const {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path_ + "-wal", failed);
  return !failed && size > kLongLog;
}

void HistoryStore::tidy() {
  // A few pages at a time: they are moved within the file.
  if (database_.number("PRAGMA freelist_count") > 0)
    database_.run("PRAGMA incremental_vacuum(500)");
  // Waits for nobody. The next launcher then writes the log from its beginning.
  database_.prepare("PRAGMA wal_checkpoint(PASSIVE)").run();
}

std::vector<HistoryRecord> HistoryStore::list(const HistoryQuery& query) const {
  // The condition is that of the index.
  Statement row = database_.prepare(
      fmt::format("SELECT {} FROM jobs WHERE began>=?1{} ORDER BY began DESC, number DESC",
                  kColumns, query.failed ? " AND status IS NOT 0" : ""));
  row.bind(query.since_ms);
  std::vector<HistoryRecord> records;
  while ((!query.most || records.size() < *query.most) && row.step()) {
    HistoryRecord record = record_of(row);
    if (query.failed && !has_failed(record, status_of(record))) continue;
    records.push_back(std::move(record));
  }
  std::reverse(records.begin(), records.end());
  return records;
}

std::vector<std::string> HistoryStore::find(const std::string& prefix, std::size_t most) const {
  // 'g' follows the last hexadecimal digit.
  Statement row =
      prefix.empty()
          ? database_.prepare("SELECT job FROM jobs ORDER BY began DESC, number DESC LIMIT 1")
          : database_.prepare("SELECT job FROM jobs WHERE job>=?1 AND job<?2");
  if (!prefix.empty()) row.bind(prefix).bind(prefix + "g");
  std::vector<std::string> ids;
  while (ids.size() < most && row.step()) ids.push_back(row.text(0));
  return ids;
}

std::optional<HistoryRecord> HistoryStore::read(const std::string& job_id) const {
  Statement row = database_.prepare(
      fmt::format("SELECT {}, card, plan, report FROM jobs LEFT JOIN details USING(number) "
                  "WHERE job=?1",
                  kColumns));
  row.bind(job_id);
  if (!row.step()) return std::nullopt;
  HistoryRecord record = record_of(row);
  record.card = row.text(16);
  record.plan = row.text(17);
  record.report = row.text(18);
  return record;
}

}  // namespace dtl
