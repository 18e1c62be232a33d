#pragma once
// The answer of dtagent to a question that is not a job ("--jobs"): text after one marker line,
// which tells it from anything that the login shell printed before.

#include <optional>
#include <string>
#include <string_view>

namespace dtl {

std::string answer_line();

// The bytes after the marker line; nullopt when it has not come yet. Throws Error(kVersion) when it
// is of another version of the protocol, or 64 KiB came without it.
std::optional<std::string> find_answer(std::string_view received);

}  // namespace dtl
