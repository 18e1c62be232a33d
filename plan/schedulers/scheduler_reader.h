#pragma once
// SchedulerReader: reads the variables that a scheduler has set, one by one, and records which were
// read, so that --show-scheduler can show all evidence. An empty variable counts as absent. Pure.

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
  // Unlike has(), these record the variable. Those that parse throw bad() for invalid values.
  std::optional<std::string> text(std::string_view name);
  // Throws Error(kBadInput) if it is absent.
  std::string needed(std::string_view name);
  std::optional<int> number(std::string_view name, std::int64_t low, std::int64_t high);
  int needed_number(std::string_view name, std::int64_t low, std::int64_t high);
  // "4", for 4 to 4, or "2:8".
  std::optional<SizeRange> range(std::string_view name, int high);
  // "name:port", "[address]:port" or only a name, with port 0.
  std::optional<std::pair<std::string, int>> endpoint(std::string_view name);
  // A job's id: no spaces, no control characters, at most 256 bytes. "": absent.
  std::string job_id(std::string_view name);
  // The first of these that is set; else the last, so that a message names the common one. Does not
  // record it.
  std::string_view first_of(std::initializer_list<std::string_view> names) const;

  // "NAME=value", with the value shortened and made printable. kBadInput.
  Error bad(std::string_view name, std::string reason, std::string hint = {}) const;
  // The position of the value's first byte: "NAME='value': column 1".
  TextPosition position(std::string_view name) const;

  Variables used() const;

 private:
  std::map<std::string, std::string, std::less<>> variables_, used_;
};

}  // namespace dtl
