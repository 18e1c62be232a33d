#pragma once
// What a command prints with --json: one JSON object, dtlaunch-json(7). Each command makes its own
// members; here are those that all of them share. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

// A host without a usable answer, and the message about it on standard error.
struct Unreachable {
  std::string host, error;
};

// members: the text of a JSON object in UTF-8, whose order stays. kind: "jobs" makes the member
// "schema": "dtlaunch-jobs/1", which comes first. A change of a member's name, type or meaning
// needs another number; a new member does not. The text ends with a newline.
std::string json_answer(std::string_view kind, const std::string& members);
// The same for a command that asks hosts, with the member "unreachable".
std::string json_answer(std::string_view kind, const std::string& members,
                        const std::vector<Unreachable>& unreachable);

}  // namespace dtl
