#pragma once
// Reads the model file of SentencePiece (sentencepiece.bpe.model, spm.model): a protobuf message
// with pieces, their scores and the table of its normaliser.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl::trainer {

struct SentencePieceModel {
  // A piece that is found in the text as it is: a control piece such as <s>, or one that a user
  // defined.
  struct Symbol {
    std::string piece;
    bool control = false;
  };
  std::vector<std::string> pieces;  // by id
  std::vector<double> scores;
  std::vector<Symbol> symbols;  // by id
  std::int64_t unknown = 0;     // the id of <unk>; not checked
  std::string character_table;  // see precompiled.h; may be empty
};

// Throws Error(kBadInput) naming the file if it is not such a message, or not a Unigram model.
SentencePieceModel read_sentencepiece_model(const std::string& path);

}  // namespace dtl::trainer
