#pragma once
// What `dtlaunch up --list --json` prints: dtlaunch-json(7). Pure.

#include <string>
#include <string_view>

namespace dtl {

// job: the scheduler's job whose nodes are kept; empty: none. lines: the holder's answer, "node1
// connected" or "node1 not connected" each.
std::string kept_json(const std::string& job, std::string_view lines);

}  // namespace dtl
