#pragma once
// The tokenizers that transformers makes of a SentencePiece vocabulary: XLMRobertaTokenizer,
// CamembertTokenizer and DebertaV2Tokenizer. Each has steps of its own, whatever tokenizer.json
// says; of that file, only the vocabulary and XLM-RoBERTa's and CamemBERT's table of characters
// count.

#include <string>

#include "trainer/tokens/piece_files.h"

namespace dtl::trainer {

bool is_sentencepiece(TokenizerKind kind);
// The name of SentencePiece's own file for such a class: spm.model, ..
const char* sentencepiece_file(TokenizerKind kind);

// Reads that file, with the tokens that the class adds to its pieces. Adds its symbols to
// config.extra, and tokens beyond the vocabulary to rules.common.added. Throws Error(kBadInput).
void read_sentencepiece_rules(const std::string& folder, TokenizerKind kind,
                              TokenizerConfig& config, PieceRules& rules);

// Sets steps and model for the vocabulary, scores and table of the rules. Throws Error(kBadInput)
// naming `path`.
void set_sentencepiece_steps(const std::string& path, TokenizerKind kind,
                             const TokenizerConfig& config, PieceRules& rules);

// The types of the steps that the class sets.
StepTypes sentencepiece_step_types(TokenizerKind kind, const TokenizerConfig& config);

}  // namespace dtl::trainer
