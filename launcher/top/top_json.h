#pragma once
// What `dtlaunch top --json` prints: dtlaunch-top(1) describes the members. Pure.

#include <string>
#include <vector>

#include "launcher/screen/json_answer.h"
#include "launcher/top/top_view.h"

namespace dtl {

// time: as RFC 3339 has it. The members of json_answer(), and a newline at the end.
std::string top_json(const TopView& view, const std::string& time,
                     const std::vector<Unreachable>& unreachable);

// The same without any other newline, for one answer after another.
std::string top_json_line(const TopView& view, const std::string& time,
                          const std::vector<Unreachable>& unreachable);

}  // namespace dtl
