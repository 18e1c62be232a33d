#pragma once
// The token of a job whose nodes find each other: a secret of at least 128 bits that only these
// nodes know. It alone protects the job's port. Pure.

#include <string>
#include <string_view>

namespace dtl {

constexpr std::size_t kMaxTokenBytes = 4096;  // of the token's file

// Returns the token without surrounding whitespace. Throws Error(kConfig) if it is easy to guess;
// the text does not show it. where: for messages, such as "DTL_TOKEN_FILE=/run/token".
std::string parse_token(std::string_view text, const std::string& where);

}  // namespace dtl
