#pragma once
// dtagent's answer to a question outside a job ("--jobs"): text after one marker line. The marker
// separates it from whatever the login shell printed before.

#include <optional>
#include <string>
#include <string_view>

namespace dtl {

std::string answer_line();

// The bytes after the marker line; nullopt if it has not arrived yet. Throws Error(kVersion) if the
// marker is of another protocol version, or if 64 KiB arrived without one.
std::optional<std::string> find_answer(std::string_view received);

}  // namespace dtl
