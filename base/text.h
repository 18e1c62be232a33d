#pragma once
// Small text helpers that several folders need. Pure functions, ASCII unless said otherwise.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

std::vector<std::string> split(std::string_view text, char separator);  // keeps empty pieces
std::string last_line(std::string_view text);  // that is not blank, trimmed; "" without one
std::string_view trim(std::string_view text);  // blanks, tabs, CR, LF
std::string to_lower(std::string_view text);
// "0-3,7" of ascending numbers.
std::string fold_ranks(const std::vector<int>& ranks);
std::string plural(std::size_t count, std::string_view noun);  // "1 rank", "2 ranks"
std::string join(std::span<const std::string> pieces, std::string_view separator);

// A whole number in [low, high] and nothing else; no sign, no blanks.
std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t low,
                                          std::int64_t high);

// The candidate with the smallest edit distance (Levenshtein), if that is at most a third of the
// longer word and at most 3: "did you mean". Empty when nothing is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// Lower-case hexadecimal.
std::string to_hex(std::string_view bytes);

// Where the first byte stands that does not belong to well-formed UTF-8 (RFC 3629: no overlong
// forms, no surrogates, at most U+10FFFF); npos when there is none.
std::size_t find_invalid_utf8(std::string_view text);

// "SIGSEGV" for 11; "signal 99" when it has no name.
std::string signal_name(int signal_number);

// True for names such as HF_TOKEN, AWS_SECRET_KEY, DB_PASSWORD, whose values are never shown.
bool looks_secret(std::string_view variable_name);

}  // namespace dtl
