#pragma once
// The files of a tokenizer that is a chain of steps (text_steps.h) as one value: tokenizer.json, or
// vocab.json and merges.txt, with tokenizer_config.json and other files of special tokens. A step
// that is not implemented exactly is an Error(kBadInput) naming file, line and key.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/pieces/bpe.h"
#include "trainer/pieces/text_steps.h"
#include "trainer/tokens/tokenizer_class.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

// Objects of tokenizer.json as they are in the file, or as they must be written; empty: null.
struct PieceTexts {
  std::string normalizer, pre_tokenizer, post_processor, decoder;
  std::string model;        // empty: made of vocabulary and merges or scores
  std::string config = {};  // an object: members of tokenizer_config.json that the class needs
};

using PreTokenizers = std::vector<std::unique_ptr<const PreTokenizer>>;

// The types of a chain of steps: "Replace, NFC, Strip"; "null" without steps.
struct StepTypes {
  std::string normalizer, pre_tokenizer;
};

struct PieceRules {
  TokenizerRules common;  // vocabulary, special and added tokens, lengths
  std::vector<std::unique_ptr<const Normalizer>> normalizers;
  PreTokenizers pre_tokenizers;
  PreTokenizers of_words;  // for texts that are split into words; empty: as for others
  std::unique_ptr<const PieceModel> model;
  std::vector<BpeMerge> merges;  // of BPE
  std::vector<double> scores;    // of Unigram, by id
  std::int64_t unknown_id = 0;   // of Unigram
  // SentencePiece's table of characters (precompiled.h), for classes that use only that of a file.
  std::string character_table;
  bool byte_level = false;  // tokens are bytes (byte_level.h)
  PieceTexts texts;
};

PieceRules read_piece_rules(const std::string& folder, const TokenizerClass& named,
                            TokenizerConfig& config);

// What piece_json.cc reads of tokenizer.json. For kWhole: all; for other kinds only the vocabulary,
// with notices about what does not count.
struct PieceJson {
  PieceRules rules;  // common.added: as listed, with the file's ids
  std::optional<bool> truncate_left;
};
// `usual`: the steps of such a class.
PieceJson read_piece_json(const std::string& path, const TokenizerClass& named,
                          const StepTypes& usual);
// vocab.json and merges.txt of byte-level BPE.
void read_bpe_files(const std::string& folder, PieceRules& rules);

// Writes tokenizer.json and the files beside it (tokenizer_write.cc).
void write_piece_rules(const std::string& folder, const PieceRules& rules);

}  // namespace dtl::trainer
