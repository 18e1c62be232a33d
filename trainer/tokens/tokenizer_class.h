#pragma once
// TokenizerClass: transformers' class that AutoTokenizer makes of a folder. Most classes rebuild
// the tokenizer from the vocabulary, whatever else tokenizer.json says; one uses the whole file.

#include <string>

#include "trainer/tokens/tokenizer_config.h"

namespace dtl::trainer {

enum class TokenizerKind {
  kBert,        // BertTokenizer and its like: WordPiece, [CLS] A [SEP] B [SEP]
  kMpnet,       // MPNetTokenizer: WordPiece, <s> A </s></s> B </s>
  kRoberta,     // RobertaTokenizer: byte-level BPE, <s> A </s></s> B </s>
  kXlmRoberta,  // XLMRobertaTokenizer: SentencePiece Unigram, <s> A </s></s> B </s>
  kCamembert,   // CamembertTokenizer: the same with other tokens
  kDebertaV2,   // DebertaV2Tokenizer: SentencePiece Unigram, [CLS] A [SEP] B [SEP]
  kWhole,       // TokenizersBackend: what tokenizer.json says
};

// One row per class in tokenizer_class.cc.
struct TokenizerClass {
  const char* name;  // without "Fast"
  TokenizerKind kind;
};

// The class by tokenizer_class or, without it, by config.json's model_type. Throws Error(kBadInput)
// for a class that is not in the table, and for kWhole without tokenizer.json.
const TokenizerClass& tokenizer_class_of(const std::string& folder, const TokenizerConfig& config);

// Adds the special tokens that such a class has if no file names them.
void add_usual_tokens(TokenizerKind kind, TokenizerConfig& config);

bool file_exists(const std::string& path);

}  // namespace dtl::trainer
