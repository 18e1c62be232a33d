#pragma once
// SchedulerReader: the variables that a scheduler has set, read one by one, with a record of those
// that were, so that --show-scheduler can show all evidence. A variable that is empty counts as
// absent. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "plan/request/request.h"
#include "plan/request/text_position.h"

namespace dtl {

class SchedulerReader {
 public:
  explicit SchedulerReader(const Variables& environment);

  bool has(std::string_view name) const { return variables_.find(name) != variables_.end(); }
  // Unlike has(), these record the variable. Those that parse throw bad() for what does not fit.
  std::optional<std::string> text(std::string_view name);
  // Throws Error(kBadInput) where it is absent.
  std::string needed(std::string_view name);
  std::optional<int> number(std::string_view name, std::int64_t low, std::int64_t high);
  int needed_number(std::string_view name, std::int64_t low, std::int64_t high);
  // "4", from 4 to 4, or "2:8".
  std::optional<SizeRange> range(std::string_view name, int high);
  // "name:port", "[address]:port" or a name alone, whose port is 0.
  std::optional<std::pair<std::string, int>> endpoint(std::string_view name);
  // The name of a job: no blanks, nothing that a terminal would obey, at most 256 bytes. "":
  // absent.
  std::string job_id(std::string_view name);
  // The first of these that is there; else the last, so that a message names the usual one. Does
  // not record it.
  std::string_view first_of(std::initializer_list<std::string_view> names) const;

  // "NAME=value", the value cut and made printable. kBadInput.
  Error bad(std::string_view name, std::string reason, std::string hint = {}) const;
  // Of the first byte of the value: "NAME='value': column 1".
  TextPosition position(std::string_view name) const;

  Variables used() const;

 private:
  std::map<std::string, std::string, std::less<>> variables_, used_;
};

}  // namespace dtl
