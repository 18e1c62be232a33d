#pragma once
// Small text helpers that several folders need. Pure functions, ASCII unless said otherwise.

#include <cstdint>
#include <ctime>
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
// "0-3,7" from ascending numbers.
std::string fold_ranks(const std::vector<int>& ranks);
// "n[1-3,7], login, 10.0.0.4": names that differ in the last number of their first label are one
// item, as hostfiles and -H take it. Addresses stay as they are. Items come in the order of their
// first name, numbers in ascending order.
std::string fold_hosts(const std::vector<std::string>& names);
std::string plural(std::int64_t count, std::string_view noun);  // "1 rank", "2 ranks"
std::string age_text(std::int64_t seconds);                     // "12s", "3m", "2h05m", "4d"
std::string join(std::span<const std::string> pieces, std::string_view separator);

// A whole number in [low, high]; no sign, no spaces, nothing else.
std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t low,
                                          std::int64_t high);

// Why parse_integer() or read_whole() refuses a text: "not a whole number (1 to 9)", or "too small
// (1 to 9)" and "too large (1 to 9)" for a whole number. With a noun, "ranks": "not a number of
// ranks (1 to 9)", "too small (1 to 9 ranks)". A high bound of 2^40 or more is left out: "too small
// (1 or more)".
std::string whole_number_fault(std::string_view text, std::int64_t low, std::int64_t high,
                               std::string_view noun = {});

// The candidate with the smallest edit distance (Levenshtein), if that is at most a third of the
// longer word and at most 3, for "did you mean". Empty if none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// The same, in any case of letters: "job" for "Jobs".
std::string nearest_word(std::string_view word, std::span<const std::string> candidates);

// "true", "yes", "on", "1" and the like, in any case; nullopt for what is neither true nor false.
std::optional<bool> parse_truth(std::string_view text);

// Whether it is a valid name of an environment variable: letters, digits, '_' and '.', not
// beginning with a digit.
bool is_variable_name(std::string_view name);

// Lower-case hexadecimal.
std::string to_hex(std::string_view bytes);

// The offset of the first byte that is not well-formed UTF-8 (RFC 3629: no overlong forms, no
// surrogates, at most U+10FFFF); npos if there is none.
std::size_t find_invalid_utf8(std::string_view text);

// Makes untrusted text safe for one of our lines: escapes everything that a terminal would
// interpret or hide (controls, newlines, direction marks, characters without width) and bytes that
// are not UTF-8: "\x1b", "\n", "\u202e". Keeps the rest. Applying it twice changes nothing.
std::string printable(std::string_view text);
// The same line by line; line ends stay, as "\n".
std::string printable_lines(std::string_view text);

// "SIGSEGV" for 11; "signal 99" if it has no name.
std::string signal_name(int signal_number);

// "2026-01-31T23:59:59Z"
std::string utc_text(std::time_t time);

// True for names such as HF_TOKEN, AWS_SECRET_KEY, DB_PASSWORD, whose values are never shown.
bool looks_secret(std::string_view variable_name);

// Quotes the text as one shell word; control bytes become "?".
std::string one_shell_word(const std::string& text);

}  // namespace dtl
