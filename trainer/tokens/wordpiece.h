#pragma once
// WordPiece with the rules of Hugging Face's fast BertTokenizer: normaliser, pre-tokeniser, greedy
// longest match.

#include <memory>

#include "trainer/tokens/subwords.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

// Throws Error(kBadInput) if the vocabulary lacks a special token.
std::unique_ptr<const Subwords> make_wordpiece(TokenizerRules rules);

}  // namespace dtl::trainer
