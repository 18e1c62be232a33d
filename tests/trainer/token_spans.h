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
  // [CLS] [SEP] text [SEP]
  return {{window.ids.begin() + 2, window.ids.end() - 1},
          {window.offsets.begin() + 2, window.offsets.end() - 1}};
}

}  // namespace dtl::trainer
