// Only computes ids; wordpiece_files.cc decides which tokens are added and in which order.
#include "trainer/tokens/token_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dtl::trainer {

TokenPlaces::TokenPlaces(TokenizerRules& rules, std::string folder)
    : rules_(rules), folder_(std::move(folder)), of_vocabulary_(rules.vocabulary) {
  // The number of tokens, not the highest id: tokenizers ignores gaps and duplicates, too.
  next_ = static_cast<std::int32_t>(of_vocabulary_.distinct()) + (rules.empty_token >= 0 ? 1 : 0);
}

void TokenPlaces::add(const AddedToken& token) {
  const auto same = [&](const AddedToken& other) { return other.content == token.content; };
  const auto there = std::find_if(rules_.added.begin(), rules_.added.end(), same);
  AddedToken placed = token;
  if (there != rules_.added.end()) {
    placed.id = there->id;
  } else if (const std::int32_t known = of_vocabulary_.of(token.content); known >= 0) {
    placed.id = known;
  } else {
    placed.id = next_;
  }
  if (token.id >= 0 && token.id != placed.id) {
    throw Error(Exit::kBadInput,
                fmt::format("{}: cannot use the added token '{}'", folder_, token.content),
                fmt::format("its id is {} in the file, but {} in the tokenizer that transformers "
                            "makes of the folder",
                            token.id, placed.id),
                "the folder as save_pretrained() of its tokenizer writes it");
  }
  // Checked late, because a duplicate token must have the right id, too.
  if (there != rules_.added.end()) return;
  if (placed.id == next_) ++next_;
  rules_.added.push_back(placed);
}

}  // namespace dtl::trainer
