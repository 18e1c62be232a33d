#include "trainer/wordpiece_text.h"

#include "trainer/unicode.h"

namespace dtl::trainer {
namespace {

std::u32string clean(std::string_view text, const TextRules& rules) {
  std::u32string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    char32_t c = next_code_point(text, at);
    if (rules.clean_text) {
      if (c == 0 || c == 0xFFFD || is_control(c)) continue;
      if (is_white_space(c)) c = ' ';
    }
    if (rules.chinese_apart && is_chinese(c)) {
      result.push_back(' ');
      result.push_back(c);
      result.push_back(' ');
    } else {
      result.push_back(c);
    }
  }
  return result;
}

}  // namespace

// The order matters: accents go before letters are lowered, because some capitals (U+0130) lower
// to a letter with a mark.
std::u32string normalize(std::string_view text, const TextRules& rules) {
  std::u32string result = clean(text, rules);
  if (rules.strip_accents) {
    result = decompose(result);
    std::erase_if(result, is_nonspacing_mark);
  }
  if (rules.lower_case) {
    std::u32string lowered;
    lowered.reserve(result.size());
    for (const char32_t c : result) append_lower(lowered, c);
    result = std::move(lowered);
  }
  return result;
}

void split_words(std::u32string_view text, std::vector<std::string>& words) {
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (const char32_t c : text) {
    if (is_white_space(c)) {
      finish();
    } else if (is_punctuation(c)) {
      finish();
      append_utf8(word, c);
      finish();
    } else {
      append_utf8(word, c);
    }
  }
  finish();
}

}  // namespace dtl::trainer
