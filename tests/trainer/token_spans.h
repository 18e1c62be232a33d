#pragma once
// TokenSpans: all tokens of a text and their places, as a context without a question.

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct TokenSpans {
  std::vector<std::int32_t> ids;  // without [CLS] and [SEP]
  std::vector<Offset> offsets;
};

inline TokenSpans token_spans(const Tokenizer& tokenizer, std::string_view text) {
  const Window window = tokenizer.encode_question("", text, INT32_MAX, 0).at(0);
  // [CLS] [SEP] text [SEP], or with two separators before the text.
  const auto frame = static_cast<std::ptrdiff_t>(tokenizer.encode_pair("", "", 8).ids.size()) - 1;
  return {{window.ids.begin() + frame, window.ids.end() - 1},
          {window.offsets.begin() + frame, window.offsets.end() - 1}};
}

}  // namespace dtl::trainer
