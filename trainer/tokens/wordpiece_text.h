#pragma once
// Splits raw text into words, as the fast BertTokenizer does: the normaliser (removes control
// characters, separates ideographs, strips accents, lower case) and the splitter (at white space
// and punctuation). Pure functions; the vocabulary trainer and the tokenizer share them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/pieces/aligned_text.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {

struct TextRules {
  bool clean_text = true;
  bool chinese_apart = true;
  bool strip_accents = true;
  bool lower_case = true;
};

// Normalised code points of UTF-8 text, without positions.
std::u32string normalize(std::string_view text, const TextRules& rules);

// The same with each code point's position in the original text, counted in code points from
// `first`. A negative `first` omits positions. Overwrites `result` and reuses its memory.
void normalize(std::string_view text, const TextRules& rules, AlignedText& result,
               std::int32_t first);

// Calls take(word, begin) for each word of text[begin, end): the word in UTF-8, and the index of
// its first code point in `text`.
template <typename Take>
void for_each_word(std::u32string_view text, std::size_t begin, std::size_t end, const Take& take) {
  std::string word;
  std::size_t start = begin;
  const auto finish = [&](std::size_t next) {
    if (!word.empty()) take(std::string_view(word), start);
    word.clear();
    start = next;
  };
  for (std::size_t i = begin; i < end; ++i) {
    const char32_t c = text[i];
    if (is_white_space(c)) {
      finish(i + 1);
    } else if (is_punctuation(c)) {
      finish(i);
      append_utf8(word, c);
      finish(i + 1);
    } else {
      append_utf8(word, c);
    }
  }
  finish(end);
}

// Appends the words of normalised text, in UTF-8, in order.
void split_words(std::u32string_view text, std::vector<std::string>& words);

}  // namespace dtl::trainer
