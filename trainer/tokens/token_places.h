#pragma once
// Gives added tokens their ids, as the tokenizers library does: the id that the vocabulary has for
// the text, or the next one behind all others. A file's own opinion of the id must be the same: a
// model's embeddings would be mixed up otherwise.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

class TokenPlaces {
 public:
  // Appends to rules.added; the vocabulary must stay as it is.
  TokenPlaces(TokenizerRules& rules, std::string folder);

  // Of equal texts, the first one counts. Throws Error(kBadInput) naming the token when it has
  // another id than the file gave it.
  void add(const AddedToken& token);

 private:
  TokenizerRules& rules_;
  std::string folder_;
  std::unordered_map<std::string_view, std::int32_t> of_vocabulary_;
  std::int32_t next_ = 0;
};

}  // namespace dtl::trainer
