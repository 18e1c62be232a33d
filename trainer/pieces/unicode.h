#pragma once
// Unicode for the tokenizer: UTF-8 decoding and encoding, BERT's character classes, canonical
// decomposition and composition, lower case. Pure functions over libutf8proc's tables.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/library.h"

namespace dtl::trainer {

// The code point that starts at text[at]; moves `at` past it. Invalid UTF-8 (overlong, surrogate,
// truncated) reads as U+FFFD, one per maximal invalid prefix.
char32_t next_code_point(std::string_view text, std::size_t& at);
std::u32string code_points(std::string_view text);
void append_utf8(std::string& text, char32_t code_point);
std::size_t count_code_points(std::string_view text);
bool is_utf8(std::string_view text);

bool is_control(char32_t c);          // categories Cc, Cf, Co, less tab, line feed, return
bool is_white_space(char32_t c);      // the White_Space property
bool is_punctuation(char32_t c);      // categories P*, and all ASCII marks such as $ + < ^ `
bool is_nonspacing_mark(char32_t c);  // category Mn
bool is_chinese(char32_t c);          // the CJK ideograph blocks that BERT sets apart
bool is_word_character(char32_t c);   // letters, marks, digits, connectors: the \w of a regex
bool is_alphanumeric(char32_t c);     // categories L* and N*: Python's str.isalnum
bool is_mark(char32_t c);             // categories M*
bool is_cased(char32_t c);            // the Cased property: capitals, small and title letters
bool is_case_ignorable(char32_t c);   // the Case_Ignorable property: marks, apostrophes, ..

// The classes by which GPT-2's expression splits words: white space, \p{L}, \p{N} and others.
enum class CharacterClass : std::uint8_t { kSpace, kLetter, kNumber, kOther };
CharacterClass character_class(char32_t c);

// The number of bytes of leading white space that Python's str.lstrip removes.
std::size_t leading_blanks(std::string_view text);
bool is_python_space(char32_t c);  // str.isspace: white space and U+001C..U+001F

// Whether a grapheme cluster (UAX 29, extended) ends between two adjacent characters. `state` is 0
// at the start of a text; then pass it on.
bool ends_cluster(char32_t before, char32_t after, std::int32_t& state);

// One code point of a decomposed character. `inserted`: not the first one.
struct DecomposedCharacter {
  char32_t character = 0;
  bool inserted = false;
};
// Decomposition in canonical order: canonical (NFD) or, if `compatible`, NFKD.
std::vector<DecomposedCharacter> decompose_parts(std::u32string_view text, bool compatible = false);
int combining_class(char32_t c);
// The canonical composition of a starter and the character after it; 0 if there is none.
char32_t compose(char32_t starter, char32_t next);
// Appends the full lower case of one character; U+0130 becomes two.
void append_lower(std::u32string& text, char32_t c);

Library utf8proc_library();  // for --version -v

}  // namespace dtl::trainer
