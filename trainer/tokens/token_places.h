#pragma once
// Gives added tokens their ids, as the tokenizers library does: the vocabulary's id for the text,
// or the next id after all others. An id in a file must match: otherwise the model's embeddings
// would be mixed up.

#include <cstdint>
#include <string>

#include "trainer/pieces/token_ids.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

class TokenPlaces {
 public:
  // Appends to rules.added; the vocabulary must not change.
  TokenPlaces(TokenizerRules& rules, std::string folder);

  // Ignores later duplicates. Throws Error(kBadInput) naming the token if its file gives it another
  // id.
  void add(const AddedToken& token);

 private:
  TokenizerRules& rules_;
  std::string folder_;
  TokenIds of_vocabulary_;
  std::int32_t next_ = 0;
};

}  // namespace dtl::trainer
