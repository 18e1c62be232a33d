// Integers only, so that every CPU masks the same tokens.
#include "trainer/model/masking.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "trainer/layers/mix.h"

namespace dtl::trainer {
namespace {

// One text's tokens, and what its random numbers depend on besides the position.
struct Text {
  std::span<const std::int32_t> ids;
  std::uint32_t number = 0;
};

// What a random number is for.
enum class Use : std::uint64_t { kChoice = 1, kKind, kToken };

std::uint64_t random_bits(const DropoutKey& key, const Text& text, std::size_t position, Use use) {
  const std::uint64_t of_text = mix(mix(mix(key.seed) + key.step) + text.number);
  return mix(of_text + (static_cast<std::uint64_t>(position) << 2) +
             static_cast<std::uint64_t>(use));
}

TokenKind kind_of(const MaskingRule& rule, std::int32_t id) {
  return rule.kinds[static_cast<std::size_t>(id)];
}

// Each token by itself, with the rule's probability.
std::vector<std::size_t> choose_tokens(const DropoutKey& key, const MaskingRule& rule,
                                       const Text& text) {
  const auto threshold = static_cast<std::uint64_t>(std::llround(rule.probability * 0x1p32));
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    if (kind_of(rule, text.ids[i]) == TokenKind::kSpecial) continue;
    if (random_bits(key, text, i, Use::kChoice) >> 32 < threshold) chosen.push_back(i);
  }
  return chosen;
}

// Words in random order until the share of tokens is reached; a word that would exceed it is left
// out. As transformers' DataCollatorForWholeWordMask.
std::vector<std::size_t> choose_words(const DropoutKey& key, const MaskingRule& rule,
                                      const Text& text) {
  std::vector<std::pair<std::uint64_t, std::vector<std::size_t>>> words;
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    const TokenKind kind = kind_of(rule, text.ids[i]);
    if (kind == TokenKind::kSpecial) continue;
    if (kind == TokenKind::kContinues && !words.empty()) {
      words.back().second.push_back(i);
    } else {
      words.push_back({random_bits(key, text, i, Use::kChoice), {i}});
    }
  }
  std::sort(words.begin(), words.end());
  const auto share = std::llround(static_cast<double>(text.ids.size()) * rule.probability);
  const auto wanted = static_cast<std::size_t>(std::max(1LL, share));
  std::vector<std::size_t> chosen;
  for (const auto& [order, tokens] : words) {
    if (chosen.size() + tokens.size() > wanted) continue;
    chosen.insert(chosen.end(), tokens.begin(), tokens.end());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::size_t> choose(const DropoutKey& key, const MaskingRule& rule, const Text& text) {
  return rule.whole_words ? choose_words(key, rule, text) : choose_tokens(key, rule, text);
}

// What the model sees in place of a chosen token.
std::int32_t shown_token(const DropoutKey& key, const MaskingRule& rule, const Text& text,
                         std::size_t position) {
  const std::uint64_t tenth = (random_bits(key, text, position, Use::kKind) >> 32) * 10 >> 32;
  if (tenth < 8) return rule.mask_token;
  if (tenth == 9) return text.ids[position];
  const std::uint64_t bits = random_bits(key, text, position, Use::kToken) >> 32;
  return static_cast<std::int32_t>(bits * rule.kinds.size() >> 32);
}

}  // namespace

void mask_tokens(const DropoutKey& key, const MaskingRule& rule, Batch& batch) {
  if (rule.probability <= 0) return;
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    const std::int64_t begin = batch.starts[static_cast<std::size_t>(s)];
    const auto length = static_cast<std::size_t>(batch.own_length(s));
    const Text text{{batch.ids.data() + begin, length}, batch.numbers[static_cast<std::size_t>(s)]};
    std::vector<std::pair<std::size_t, std::int32_t>> shown;
    for (const std::size_t position : choose(key, rule, text)) {
      batch.masked.push_back(begin + static_cast<std::int64_t>(position));
      batch.originals.push_back(text.ids[position]);
      shown.emplace_back(position, shown_token(key, rule, text, position));
    }
    for (const auto& [position, token] : shown) {
      batch.ids[static_cast<std::size_t>(begin) + position] = token;
    }
  }
}

std::int64_t count_masked(const DropoutKey& key, const Examples& examples,
                          std::span<const std::int64_t> chosen) {
  std::int64_t count = 0;
  for (const std::int64_t example : chosen) {
    const Text text{{examples.ids.data() + examples.first_token(example),
                     static_cast<std::size_t>(examples.tokens_of(example))},
                    static_cast<std::uint32_t>(example)};
    count += std::ssize(choose(key, examples.masking, text));
  }
  return count;
}

}  // namespace dtl::trainer
