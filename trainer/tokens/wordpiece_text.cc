// The stages of BertNormalizer in order: clean, separate ideographs, strip accents, lower case.
// Positions follow every insertion and removal, so tokens can be located in the original text.
#include "trainer/tokens/wordpiece_text.h"

#include <algorithm>
#include <utility>

namespace dtl::trainer {
namespace {

// Code points with their positions, if requested. Each stage builds a new one.
class Builder {
 public:
  Builder(AlignedText& text, bool with_places) : text_(text), with_places_(with_places) {
    text.characters.clear();
    text.places.clear();
  }

  void put(char32_t c, std::int32_t place) {
    text_.characters.push_back(c);
    if (with_places_) text_.places.push_back(place);
  }

 private:
  AlignedText& text_;
  bool with_places_;
};

void clean(std::string_view text, const TextRules& rules, std::int32_t first, Builder out) {
  std::int32_t place = first;
  for (std::size_t at = 0; at < text.size(); ++place) {
    char32_t c = next_code_point(text, at);
    if (rules.clean_text) {
      // U+FFFD may also stand for invalid UTF-8.
      if (c == 0 || c == 0xFFFD || is_control(c)) continue;
      if (is_white_space(c)) c = ' ';
    }
    if (rules.chinese_apart && is_chinese(c)) {
      out.put(' ', place);
      out.put(c, place);
      out.put(' ', place);
    } else {
      out.put(c, place);
    }
  }
}

// A code point that decomposition inserts gets the position of the one before it, after marks are
// in canonical order. Any other gets the next position. Hugging Face counts this way.
void strip_accents(AlignedText& text, bool with_places) {
  const std::vector<DecomposedCharacter> parts = decompose_parts(text.characters);
  const std::vector<std::int32_t> places = std::move(text.places);
  Builder out(text, with_places);
  std::size_t next = 0;
  for (const DecomposedCharacter& part : parts) {
    if (!part.inserted) ++next;
    if (is_nonspacing_mark(part.character)) continue;
    out.put(part.character, with_places ? places[std::max<std::size_t>(next, 1) - 1] : 0);
  }
}

// If a letter becomes two, both get its position.
void lower(AlignedText& text, bool with_places) {
  const AlignedText before = std::exchange(text, {});
  Builder out(text, with_places);
  std::u32string lowered;
  for (std::size_t i = 0; i < before.characters.size(); ++i) {
    lowered.clear();
    append_lower(lowered, before.characters[i]);
    for (const char32_t c : lowered) out.put(c, with_places ? before.places[i] : 0);
  }
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// All stages in one, for mostly English text: ASCII has no ideographs or accents, and each byte is
// a code point.
void normalize_ascii(std::string_view text, const TextRules& rules, std::int32_t first,
                     Builder out) {
  std::int32_t place = first;
  for (const char byte : text) {
    auto c = static_cast<char32_t>(byte);
    const std::int32_t here = place++;
    if (rules.clean_text) {
      if (is_control(c)) continue;
      if (is_white_space(c)) c = ' ';
    }
    if (rules.lower_case && c >= 'A' && c <= 'Z') c += 32;
    out.put(c, here);
  }
}

}  // namespace

// Strip accents before lower case, because some capitals (U+0130) become a letter with a mark.
void normalize(std::string_view text, const TextRules& rules, AlignedText& result,
               std::int32_t first) {
  const bool with_places = first >= 0;
  if (is_ascii(text)) {
    normalize_ascii(text, rules, first, Builder(result, with_places));
    return;
  }
  clean(text, rules, first, Builder(result, with_places));
  if (rules.strip_accents) strip_accents(result, with_places);
  if (rules.lower_case) lower(result, with_places);
}

std::u32string normalize(std::string_view text, const TextRules& rules) {
  AlignedText result;
  normalize(text, rules, result, -1);
  return std::move(result.characters);
}

void split_words(std::u32string_view text, std::vector<std::string>& words) {
  for_each_word(text, 0, text.size(),
                [&](std::string_view word, std::size_t) { words.emplace_back(word); });
}

}  // namespace dtl::trainer
