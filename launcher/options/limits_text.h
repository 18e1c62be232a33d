#pragma once
// For --show-limits: the waits and bounds of base/limits.h that a user may notice, each with its
// value and meaning. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct LimitFact {
  std::string_view name;
  std::optional<double> wait_s;  // of a wait
  std::size_t bound = 0;         // otherwise
  std::string_view meaning;
};

// All waits, then all bounds.
std::vector<LimitFact> limit_facts();

// A line for each.
std::string limits_text();

}  // namespace dtl
