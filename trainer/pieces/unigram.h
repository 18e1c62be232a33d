#pragma once
// Unigram: the model of SentencePiece that splits a word into the most probable pieces, as the
// tokenizers library does. Immutable after construction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/pieces/byte_trie.h"
#include "trainer/pieces/text_steps.h"

namespace dtl::trainer {

class Unigram : public PieceModel {
 public:
  // pieces[i] has the id i and the logarithm of its probability, scores[i]. `unknown` is the id of
  // characters that no piece has. Of equal pieces, the last one counts. With byte_fallback, unknown
  // text becomes its bytes <0x00> .. <0xFF>, if all of them are pieces.
  Unigram(const std::vector<std::string>& pieces, std::vector<double> scores, std::int32_t unknown,
          bool byte_fallback);

  // Takes time linear in the length of the text.
  void add_tokens(std::string_view piece, std::vector<PieceToken>& tokens) const override;

 private:
  void add_unknown(std::string_view piece, PieceToken token, std::vector<PieceToken>& tokens) const;

  std::vector<double> scores_;  // by id
  ByteTrie trie_;
  std::int32_t unknown_;
  double unknown_score_ = 0;
  bool byte_fallback_;
  std::array<std::int32_t, 256> byte_ids_{};  // of <0x00> .. <0xFF>; -1: not a piece
};

}  // namespace dtl::trainer
