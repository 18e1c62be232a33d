#pragma once
// Finds the tokens that a tokenizer takes verbatim from a text ([SEP], and what users added), with
// their flags. Immutable once made.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

// A piece of text between added tokens, or (id >= 0) such a token.
struct Segment {
  std::string_view text;
  std::int32_t id = -1;
};

// The leftmost token counts, and of several starting there the longest: the Aho-Corasick rule
// (leftmost-longest) of the tokenizers library.
class AddedTokens {
 public:
  // Those of `tokens` that are to be found before (normalized: after) normalisation.
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized, const TextRules& rules);

  bool empty() const { return tokens_.empty(); }

  // Appends the segments of `text`, which together are all of it.
  void split(std::string_view text, std::vector<Segment>& segments) const;

 private:
  const AddedToken* match(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::array<bool, 256> starts_{};  // first bytes of tokens
};

}  // namespace dtl::trainer
