#pragma once
// Subwords by the steps of a tokenizer.json: normalisers, pre-tokenisers and a model, each exactly
// as in the tokenizers library.

#include <memory>

#include "trainer/tokens/piece_files.h"
#include "trainer/tokens/subwords.h"

namespace dtl::trainer {

// Throws Error(kBadInput) if the vocabulary lacks a special token.
std::unique_ptr<const Subwords> make_pieces(PieceRules rules);

}  // namespace dtl::trainer
