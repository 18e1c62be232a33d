// The only file that uses utf8proc. If Python, Rust and utf8proc disagree, follow the tests'
// reference (tokenizers, written in Rust). Each function first handles ASCII, the most common case,
// without a table.
#include "trainer/pieces/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace dtl::trainer {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// How a sequence continues after its first byte (Unicode Standard, table 3-7): the number of
// further bytes and the range of the second. The range excludes overlong forms, surrogates and
// values above U+10FFFF.
struct LeadByte {
  int more = 0;
  unsigned char low = 0x80, high = 0xBF;
  char32_t bits = 0;
};

// C0, C1 and F5..FF never begin a sequence: more = 0.
LeadByte lead_byte(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return {1, 0x80, 0xBF, first & 0x1FU};
  if (first == 0xE0) return {2, 0xA0, 0xBF, 0};
  if (first == 0xED) return {2, 0x80, 0x9F, 0x0D};
  if (first >= 0xE1 && first <= 0xEF) return {2, 0x80, 0xBF, first & 0x0FU};
  if (first == 0xF0) return {3, 0x90, 0xBF, 0};
  if (first == 0xF4) return {3, 0x80, 0x8F, 4};
  if (first >= 0xF1 && first <= 0xF3) return {3, 0x80, 0xBF, first & 0x07U};
  return {};
}

CharacterClass class_of_category(char32_t c) {
  if (is_white_space(c)) return CharacterClass::kSpace;
  const utf8proc_category_t kind = category(c);
  if (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) return CharacterClass::kLetter;
  if (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO) return CharacterClass::kNumber;
  return CharacterClass::kOther;
}

constexpr char32_t kClassTable = 0x10000;  // the characters of nearly all texts

// Sorts each run of combining marks by class. Canonical order requires a stable sort.
void order_marks(std::vector<DecomposedCharacter>& text) {
  // All characters below U+0300 have combining class 0.
  const auto class_at = [&](std::size_t at) {
    return text[at].character < 0x300 ? 0 : combining_class(text[at].character);
  };
  for (std::size_t start = 0; start < text.size();) {
    if (class_at(start) == 0) {
      ++start;
      continue;
    }
    std::size_t end = start;
    while (end < text.size() && class_at(end) != 0) ++end;
    std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(start),
                     text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const DecomposedCharacter& a, const DecomposedCharacter& b) {
                       return combining_class(a.character) < combining_class(b.character);
                     });
    start = end;
  }
}

// Characters of common scripts that are a cluster of their own beside each other: Latin, Greek,
// Cyrillic, kana, ideographs. Only common ones, to save the look-up.
bool stands_alone(char32_t c) {
  return (c >= 0x20 && c < 0x300) || (c >= 0x370 && c < 0x483) || (c >= 0x48A && c < 0x590) ||
         (c >= 0x3041 && c < 0x3099) || (c >= 0x30A0 && c < 0x3130) || (c >= 0x3400 && c < 0xA000);
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const unsigned char first = byte_at(text, at++);
  if (first < 0x80) return first;
  LeadByte lead = lead_byte(first);
  if (lead.more == 0) return kReplacement;
  for (int i = 0; i < lead.more; ++i) {
    if (at == text.size()) return kReplacement;
    const unsigned char next = byte_at(text, at);
    if (next < lead.low || next > lead.high) return kReplacement;
    lead.bits = (lead.bits << 6) | (next & 0x3FU);
    // Only the second byte has a narrower range.
    lead.low = 0x80;
    lead.high = 0xBF;
    ++at;
  }
  return lead.bits;
}

std::u32string code_points(std::string_view text) {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) characters.push_back(next_code_point(text, at));
  return characters;
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) next_code_point(text, at);
  return count;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    // U+FFFD stands for invalid bytes, unless the text has it.
    if (next_code_point(text, at) == 0xFFFD && text.substr(begin, at - begin) != "\xEF\xBF\xBD") {
      return false;
    }
  }
  return true;
}

bool is_control(char32_t c) {
  if (c < 0x80) return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
         kind == UTF8PROC_CATEGORY_CO;
}

// Listed here because utf8proc has no such property: U+0085 is of category Cc.
bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  }
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_nonspacing_mark(char32_t c) {
  return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN;
}

// The ranges of BERT's original tokenizer, which do not include newer blocks.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_word_character(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_ND) ||
         kind == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D;
}

bool is_alphanumeric(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) ||
         (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

// Lu, Ll and Lt, and ordinals, Roman numerals and circled letters, which are cased by
// Other_Lowercase and Other_Uppercase.
bool is_cased(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LT) || c == 0xAA || c == 0xBA ||
         (c >= 0x2160 && c <= 0x217F) || (c >= 0x24B6 && c <= 0x24E9);
}

bool is_case_ignorable(char32_t c) {
  constexpr std::u32string_view kInsideWords =
      U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55"
      U"\uFF07\uFF0E\uFF1A";
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_ME ||
         kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_LM ||
         kind == UTF8PROC_CATEGORY_SK || kInsideWords.find(c) != std::u32string_view::npos;
}

bool is_mark(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

CharacterClass character_class(char32_t c) {
  // A look-up, because a tokenizer asks for each character of each text.
  static const std::vector<CharacterClass> table = [] {
    std::vector<CharacterClass> classes;
    classes.reserve(kClassTable);
    for (char32_t each = 0; each < kClassTable; ++each) classes.push_back(class_of_category(each));
    return classes;
  }();
  return c < kClassTable ? table[c] : class_of_category(c);
}

bool is_python_space(char32_t c) {
  return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

std::size_t leading_blanks(std::string_view text) {
  std::size_t blanks = 0;
  for (std::size_t next = 0; next < text.size() && is_python_space(next_code_point(text, next));) {
    blanks = next;
  }
  return blanks;
}

bool ends_cluster(char32_t before, char32_t after, std::int32_t& state) {
  if (stands_alone(before) && stands_alone(after)) {
    state = 0;
    return true;
  }
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                          static_cast<utf8proc_int32_t>(after), &state);
}

std::vector<DecomposedCharacter> decompose_parts(std::u32string_view text, bool compatible) {
  std::vector<DecomposedCharacter> result;
  result.reserve(text.size());
  bool marks = false;
  for (const char32_t c : text) {
    // Smaller code points do not decompose.
    if (c < (compatible ? 0xA0 : 0xC0)) {
      result.push_back({c});
      continue;
    }
    std::array<utf8proc_int32_t, 32> parts;  // the longest decomposition, of U+FDFA, has 18
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(c), parts.data(), static_cast<utf8proc_ssize_t>(parts.size()),
        static_cast<utf8proc_option_t>(compatible ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT
                                                  : UTF8PROC_DECOMPOSE),
        &boundary);
    // utf8proc refuses values that are not code points; keep them.
    if (count < 0) {
      result.push_back({c});
      continue;
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      result.push_back({static_cast<char32_t>(parts[static_cast<std::size_t>(i)]), i > 0});
    }
    marks = marks || count > 1 || c >= 0x300;
  }
  if (marks) order_marks(result);
  return result;
}

int combining_class(char32_t c) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

char32_t compose(char32_t starter, char32_t next) {
  if (next < 0x300) return 0;  // no character below it ends a composition
  std::array<utf8proc_int32_t, 3> pair = {static_cast<utf8proc_int32_t>(starter),
                                          static_cast<utf8proc_int32_t>(next), 0};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(pair.data(), 2, options);
  return length == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

void append_lower(std::u32string& text, char32_t c) {
  if (c < 0x80) {
    text.push_back(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c == 0x130) {  // the only character with a two-character lower case in every language
    text += U"i\u0307";
  } else {
    text.push_back(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

Library utf8proc_library() {
  return {"utf8proc", ::utf8proc_version(), address_of(&::utf8proc_version)};
}

}  // namespace dtl::trainer
