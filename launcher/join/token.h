#pragma once
// The token of a job whose nodes find each other: a secret of at least 128 bits that all of them
// know, and nobody else. Pure.

#include <string>
#include <string_view>

namespace dtl {

constexpr std::size_t kMaxTokenBytes = 4096;  // of its file

// Without the blanks and line ends around it. Throws Error(kConfig) when it is too short to be one,
// in words that do not show it. where: "DTL_TOKEN_FILE=/run/token".
std::string parse_token(std::string_view text, const std::string& where);

}  // namespace dtl
