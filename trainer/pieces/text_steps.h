#pragma once
// The three kinds of steps from a text to tokens, as in the tokenizers library: normalisers change
// the text, pre-tokenisers split it into pieces, a model splits each piece into tokens. All are
// immutable after construction, so several threads may use one.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/pieces/aligned_text.h"

namespace dtl::trainer {

class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Changes a part of a text between added tokens. Each character keeps its place; an inserted one
  // gets the place that the tokenizers library gives it.
  virtual void normalize(AlignedText& text) const = 0;
};

// text.characters[begin, end), not empty.
struct PieceRange {
  std::size_t begin = 0, end = 0;
};

// A text and its pieces, in order and without overlap. Characters outside of them are dropped.
struct SplitText {
  AlignedText text;
  std::vector<PieceRange> pieces;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // Splits each piece of `split` further, and may change its characters; it must not join pieces. A
  // piece is at the start of the original text if its first character has place 0.
  virtual void pre_tokenize(SplitText& split) const = 0;
};

// A token: bytes [begin, end) of its piece. Tokens of one piece may overlap (byte fallback).
struct PieceToken {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;

  bool operator==(const PieceToken&) const = default;
};

class PieceModel {
 public:
  virtual ~PieceModel() = default;

  // Appends the tokens of one piece, which is valid UTF-8 and not empty. Callers cache the results,
  // so this need not.
  virtual void add_tokens(std::string_view piece, std::vector<PieceToken>& tokens) const = 0;
};

}  // namespace dtl::trainer
