#pragma once
// The token of a job whose nodes find each other: a secret of at least 128 bits that all of them
// know, and nobody else. It is the only thing that keeps others out of the job's port. Pure.

#include <string>
#include <string_view>

namespace dtl {

constexpr std::size_t kMaxTokenBytes = 4096;  // of its file

// Returns it without the blanks and line ends around it. Throws Error(kConfig) when it could be
// guessed, in words that do not show it. where: for messages, such as "DTL_TOKEN_FILE=/run/token".
std::string parse_token(std::string_view text, const std::string& where);

}  // namespace dtl
