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
// "0-3,7" of ascending numbers.
std::string fold_ranks(const std::vector<int>& ranks);
std::string plural(std::int64_t count, std::string_view noun);  // "1 rank", "2 ranks"
std::string join(std::span<const std::string> pieces, std::string_view separator);

// A whole number in [low, high] and nothing else; no sign, no blanks.
std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t low,
                                          std::int64_t high);

// The candidate with the smallest edit distance (Levenshtein), if that is at most a third of the
// longer word and at most 3: "did you mean". Empty when nothing is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "true", "yes", "on", "1" and the like, in any case; nullopt for what is neither true nor false.
std::optional<bool> parse_truth(std::string_view text);

// Letters, digits, '_' and '.', and no digit first: what a variable of the environment may be
// called.
bool is_variable_name(std::string_view name);

// Lower-case hexadecimal.
std::string to_hex(std::string_view bytes);

// The place of the first byte that does not belong to well-formed UTF-8 (RFC 3629: no overlong
// forms, no surrogates, at most U+10FFFF); npos when there is none.
std::size_t find_invalid_utf8(std::string_view text);

// Text of strangers made fit for a line of ours: whatever a terminal would obey or hide (controls,
// line ends, marks that turn the direction of text, characters without width) and bytes that are
// not UTF-8 are spelled out: "\x1b", "\n", "\u202e". The rest stays as it is. Doing it twice
// changes nothing.
std::string printable(std::string_view text);
// The same line by line; the line ends stay, as "\n".
std::string printable_lines(std::string_view text);

// "SIGSEGV" for 11; "signal 99" when it has no name.
std::string signal_name(int signal_number);

// "2026-01-31T23:59:59Z"
std::string utc_text(std::time_t time);

// True for names such as HF_TOKEN, AWS_SECRET_KEY, DB_PASSWORD, whose values are never shown.
bool looks_secret(std::string_view variable_name);

// One word for a shell, whatever is in it; control bytes become "?".
std::string one_shell_word(const std::string& text);

}  // namespace dtl
