// SQLite's own error texts are kept: users can look them up.
#include "launcher/history/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr const char* kWhat = ": history of jobs";

[[noreturn]] void throw_database_error(const std::string& path, int code, sqlite3* handle) {
  const std::string text =
      printable(handle != nullptr && sqlite3_errcode(handle) == code ? sqlite3_errmsg(handle)
                                                                     : sqlite3_errstr(code));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  switch (code & 0xff) {  // the rest are details of the same error
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(Exit::kTryAgain, path + kWhat, "other processes hold the file: " + text);
    case SQLITE_FULL:
      throw Error(Exit::kCannotWrite, path + kWhat, text, "df -h " + one_shell_word(folder));
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw Error(Exit::kCannotWrite, path + kWhat, text, "ls -la " + one_shell_word(folder));
    case SQLITE_IOERR:
      throw Error(Exit::kIo, path + kWhat, text, "df -h " + one_shell_word(folder));
    default:  // SQLITE_CORRUPT, SQLITE_NOTADB, and tables that are not ours
      throw Error(Exit::kBadInput, path + kWhat, "damaged: " + text);
  }
}

// SQLite gives its other files the mode of this one. An existing file is never opened here: closing
// it would drop the locks of this process (fcntl(2)).
void make_own_file(const std::string& path) {
  const Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made.valid()) return;
  if (errno != EEXIST) throw system_error(path + kWhat, Exit::kCannotWrite);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;  // moved aside just now
  if (!S_ISREG(status.st_mode)) {
    throw Error(Exit::kCannotWrite, path + kWhat, "not a regular file",
                "ls -ld " + one_shell_word(path));
  }
  if ((status.st_mode & 0777) != 0600) ::chmod(path.c_str(), 0600);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(std::optional<std::int64_t> number) {
  ++bound_;
  const int code = number ? sqlite3_bind_int64(statement_.get(), bound_, *number)
                          : sqlite3_bind_null(statement_.get(), bound_);
  if (code != SQLITE_OK) throw_database_error(path_, code, sqlite3_db_handle(statement_.get()));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  // A view without bytes may have no address, which would be NULL.
  const char* bytes = text.empty() ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_.get(), ++bound_, bytes, text.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) throw_database_error(path_, code, sqlite3_db_handle(statement_.get()));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    throw_database_error(path_, code, sqlite3_db_handle(statement_.get()));
  }
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::int64_t> Statement::perhaps_number(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return number(column);
}

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Database::Database(std::string path, Mode mode, std::chrono::milliseconds patience)
    : path_(std::move(path)) {
  if (mode == Mode::kWrite) make_own_file(path_);
  sqlite3* handle = nullptr;
  // Readers write the index of the log, too. Without the right to, SQLite opens the file read-only.
  const int code =
      sqlite3_open_v2(path_.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);  // also after a failure
  if (code != SQLITE_OK) throw_database_error(path_, code, handle);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(patience.count()));
  // The last process to close the file would copy the log into it and wait for the disk.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Statement Database::prepare(std::string_view sql) const {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &prepared, nullptr);
  if (code != SQLITE_OK) throw_database_error(path_, code, handle_.get());
  Statement statement;
  statement.statement_.reset(prepared);
  statement.path_ = path_;
  return statement;
}

void Database::run(const char* sql) const {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_database_error(path_, code, handle_.get());
}

std::int64_t Database::number(std::string_view sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.number(0) : 0;
}

Transaction::Transaction(const Database& database) : database_(database) {
  database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const Error&) {  // SQLite has rolled back by itself, as after a full disk
    open_ = false;
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

bool is_network_folder(const std::string& folder) {
  // Of statfs(2) and the file systems' own sources: NFS, SMB (three), AFS, Coda, Ceph, Lustre,
  // GPFS, BeeGFS, OCFS2, GFS2, 9P, and FUSE, behind which sshfs or Gluster may be.
  constexpr std::array<std::uint32_t, 14> kShared = {
      0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0x00c36400,
      0x0bd00bd0, 0x47504653, 0x19830326, 0x7461636f, 0x01161970, 0x01021997, 0x65735546};
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) return true;  // the careful way works everywhere
  const auto type = static_cast<std::uint32_t>(status.f_type);
  return std::find(kShared.begin(), kShared.end(), type) != kShared.end();
}

Library sqlite_library() {
  return {"SQLite", sqlite3_libversion(), address_of(&sqlite3_libversion)};
}

}  // namespace dtl
