#pragma once
// A TOML file parsed strictly: a key that the program does not ask for is an error with file:line
// and the nearest known key. Otherwise a mistyped key would be a setting silently ignored. One
// thread at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/library.h"

namespace dtl {

Library toml_library();  // toml11, for --version -v

// A scalar of a table.
struct TomlEntry {
  std::string name, text;  // the text as it would be typed on a command line
  std::string place;       // "FILE:LINE:COLUMN", of the value
  std::string shown;       // "ranks = 2.5", as in the file; of a secret only the name
};

class TomlFile {
 public:
  // Throws Error(kBadInput) "FILE:LINE: ..." for a missing or malformed file.
  static TomlFile load(const std::string& path);
  static TomlFile parse(const std::string& text, const std::string& path_for_messages);
  TomlFile(TomlFile&&) noexcept;
  TomlFile& operator=(TomlFile&&) noexcept;
  ~TomlFile();

  // Dotted keys ("pinning.cores_per_rank"). nullopt: the file does not have it; asking always makes
  // the key known. A value of another type is an Error with file:line.
  std::optional<std::string> string(const std::string& key);
  std::optional<std::int64_t> integer(const std::string& key);
  bool is_string(const std::string& key);                // false also if it is absent
  bool is_boolean(const std::string& key);               // the same
  std::optional<double> number(const std::string& key);  // integer or float
  std::optional<bool> boolean(const std::string& key);
  std::optional<std::vector<std::string>> strings(const std::string& key);
  // A table of scalars, in file order, with values as on a command line. The empty key is the file
  // itself.
  std::vector<std::pair<std::string, std::string>> table(const std::string& key);
  // The same with their places.
  std::vector<TomlEntry> entries(const std::string& key);
  // How many tables [[key]] there are; their keys are "key.0.name", "key.1.name" and so on.
  std::size_t tables(const std::string& key);
  // "FILE:LINE" of a key, for messages about its value.
  std::string where(const std::string& key) const;
  // "ranks = 2.5", as in the file; for a list or table only the key.
  std::string shown(const std::string& key) const;

  bool empty() const;  // only comments, or nothing

  // Throws Error(kBadInput) for the first key that nobody asked for.
  void reject_unknown_keys() const;

 private:
  struct Impl;
  explicit TomlFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dtl
