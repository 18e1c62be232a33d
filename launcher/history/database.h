#pragma once
// Database and Statement: one SQLite file, as values that close themselves. The only header of this
// room that names SQLite's types. One thread at a time. Failures are Errors that name the file:
// kBadInput for a damaged file, kTryAgain if another process holds it for too long, kCannotWrite
// and kIo for the disk.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/library.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dtl {

class Statement {
 public:
  // Parameters ?1, ?2 ... in the order of the calls; nullopt is NULL.
  Statement& bind(std::optional<std::int64_t> number);
  Statement& bind(std::string_view text);
  bool step();  // true: a row is there
  // For a statement without rows.
  void run();

  std::string text(int column) const;
  std::int64_t number(int column) const;
  std::optional<std::int64_t> perhaps_number(int column) const;  // nullopt: NULL

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
  int bound_ = 0;
};

class Database {
 public:
  enum class Mode { kWrite, kRead };  // kWrite: makes the file, for this user alone

  // patience: how long a call waits for other processes.
  Database(std::string path, Mode mode, std::chrono::milliseconds patience);

  Statement prepare(std::string_view sql) const;
  void run(const char* sql) const;  // one or several statements
  std::int64_t number(std::string_view sql) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// Begins to write at once, so that a wait for other processes happens here. Rolls back unless
// commit() was called.
class Transaction {
 public:
  explicit Transaction(const Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& database_;
  bool open_ = true;
};

// Whether the file system is one that other machines may share, by statfs(2) of the folder. There
// SQLite's write-ahead log, which needs shared memory, would damage a file.
bool is_network_folder(const std::string& folder);

Library sqlite_library();

}  // namespace dtl
