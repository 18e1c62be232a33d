#pragma once
// Examples: a tokenised data set, flat and without padding. Text i has the token ids
// ids[starts[i]] .. ids[starts[i+1]-1]. An example is one text (with special tokens, perhaps of a
// pair), or as many texts as `texts` says, next to each other, such as an anchor, its positive and
// a negative. A plain value; rank 0 makes it and broadcasts it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tokens/subwords.h"

namespace dtl::trainer {

// Instead of a label, for tokens that training and figures leave out, such as [CLS].
constexpr std::int32_t kNoLabel = -1;

// Which tokens a masked language model has to guess: see model/masking.h.
struct MaskingRule {
  double probability = 0;  // 0: none
  bool whole_words = false;
  std::int32_t mask_token = 0;
  std::vector<TokenKind> kinds = {};  // by id, of all tokens
};

struct Examples {
  std::vector<std::int32_t> ids;     // [total tokens]
  std::vector<std::int8_t> types;    // [total tokens], 0 or 1 (second text)
  std::vector<std::int64_t> starts;  // [all texts + 1], starts[0] = 0
  std::int64_t texts = 1;            // of each example
  // What to learn; at most one of these four is set. C: the model's outputs per example.
  std::vector<std::int32_t> labels;  // [examples]
  std::vector<float> targets;        // [examples, C]: regression (C = 1), multi-label (0 or 1)
  std::vector<std::int32_t> answer_starts, answer_ends;  // [examples], tokens; 0, 0: no answer
  std::vector<std::int32_t> token_labels;                // [total tokens]; kNoLabel: does not count

  MaskingRule masking = {};

  std::int64_t cut = 0;  // examples that were truncated; rank 0 only

  std::int64_t size() const {
    return starts.empty() ? 0 : (static_cast<std::int64_t>(starts.size()) - 1) / texts;
  }
  // The first token of an example; of size(): the end of the last one.
  std::int64_t first_token(std::int64_t example) const {
    return starts[static_cast<std::size_t>(example * texts)];
  }
  std::int64_t tokens_of(std::int64_t example) const {
    return first_token(example + 1) - first_token(example);
  }
};

}  // namespace dtl::trainer
