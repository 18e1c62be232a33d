#pragma once
// One line of a hostfile: its words, and what the keys after the host say. hostfile.cc decides what
// the host itself means, and whether line and host fit together. Pure.

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

// Words between blanks and tabs.
std::vector<Word> words_of(std::string_view line);

// What follows the host on its line.
struct LineItems {
  std::optional<int> slots, max_slots, port;
  std::optional<std::string> user, address, interface, pin_domain, binding;
};

// The words after the first; `line` is where the line begins. A key that comes twice is an error,
// in two spellings, too. Throws line.at(...).error().
LineItems parse_items(const std::vector<Word>& words, const TextPosition& line);

// The text with its comments turned into blanks, so that everything else keeps its place, and
// errors their line and column: from '#' or "//" to the end of the line, and from "/*" to the next
// "*/", over lines too. Throws Error(kBadInput) for a comment without an end.
std::string without_comments(std::string_view text, std::string_view path);

}  // namespace dtl
