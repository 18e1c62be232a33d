#pragma once
// From raw text to words, as the fast BertTokenizer does it: the normaliser (control characters
// out, ideographs apart, accents off, lower case) and the splitter (at white space and around
// punctuation). Pure functions; the vocabulary trainer and the tokenizer share them.

#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

struct TextRules {
  bool clean_text = true;
  bool chinese_apart = true;
  bool strip_accents = true;
  bool lower_case = true;
};

// Normalised code points of UTF-8 text.
std::u32string normalize(std::string_view text, const TextRules& rules);

// Appends the words of normalised text, in UTF-8, in order.
void split_words(std::u32string_view text, std::vector<std::string>& words);

}  // namespace dtl::trainer
