#pragma once
// Finds tokens that are taken verbatim from a text ([SEP] and those that users added), with their
// flags. Immutable after construction.

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

// A piece of text between added tokens or, if id >= 0, such a token.
struct Segment {
  std::string_view text;
  std::int32_t id = -1;
};

// The leftmost token wins, and of several that start there the longest: the Aho-Corasick rule
// (leftmost-longest) of the tokenizers library.
class AddedTokens {
 public:
  // Uses the tokens to find before normalisation or, if `normalized`, after it.
  // `normalize` then gives the text to find.
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized,
              const std::function<std::u32string(std::string_view)>& normalize);

  bool empty() const { return tokens_.empty(); }

  // Appends segments that together cover `text`.
  void split(std::string_view text, std::vector<Segment>& segments) const;

 private:
  const AddedToken* match(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::array<bool, 256> single_{};  // tokens of one byte
  std::bitset<1 << 16> starts_;     // the first two bytes of the others
};

}  // namespace dtl::trainer
