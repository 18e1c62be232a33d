#pragma once
// Parses one line of a hostfile: its words, and the keys after the host. hostfile.cc interprets the
// host, and checks whether line and host fit together. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/text_position.h"

namespace dtl {

struct Word {
  std::string_view text;
  std::size_t column;  // 0-based
};

// Words separated by spaces and tabs.
std::vector<Word> words_of(std::string_view line);

// The items after the host on its line.
struct LineItems {
  std::optional<int> slots, max_slots, port;
  std::optional<std::string> user, address, interface, pin_domain, binding;
};

// Parses the words after the first; `line` is the beginning of the line. A repeated key is an
// error, even in two spellings. Throws line.at(...).error().
LineItems parse_items(const std::vector<Word>& words, const TextPosition& line);

// Replaces comments by spaces, so that all other text keeps its line and column for errors: from
// '#' or "//" to the end of the line, and from "/*" to the next "*/", even across lines. Throws
// Error(kBadInput) for a comment without an end.
std::string without_comments(std::string_view text, std::string_view path);

}  // namespace dtl
