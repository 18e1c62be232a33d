// Chooses examples and ranks from seed and sizes only, with the same result on every rank. Sends
// nothing.
#include "trainer/step/sampler.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace dtl::trainer {
// Fisher-Yates from the front with 32 random bits per swap, as torch.randperm, including the slight
// bias of its modulo.
std::vector<std::int64_t> random_order(std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  // torch seeds this generator with the low 32 bits of the seed.
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    std::swap(order[i], order[i + random() % (order.size() - i)]);
  }
  return order;
}

// Greedy, longest first: every rank computes the same shares. Ties are deterministic: min_element
// takes the lowest rank, and the sort is stable.
std::vector<std::vector<std::int64_t>> deal(const Examples& examples,
                                            std::span<const std::int64_t> chosen, int ranks) {
  std::vector<std::size_t> places(chosen.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return examples.tokens_of(chosen[a]) > examples.tokens_of(chosen[b]);
  });
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(ranks));
  std::vector<std::vector<std::size_t>> dealt(tokens.size());
  for (const std::size_t place : places) {
    const auto rank =
        static_cast<std::size_t>(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
    tokens[rank] += examples.tokens_of(chosen[place]);
    dealt[rank].push_back(place);
  }
  std::vector<std::vector<std::int64_t>> shares(tokens.size());
  for (std::size_t rank = 0; rank < dealt.size(); ++rank) {
    // Restore the order of `chosen`: micro-batches are consecutive parts of the share.
    std::sort(dealt[rank].begin(), dealt[rank].end());
    for (const std::size_t place : dealt[rank]) shares[rank].push_back(chosen[place]);
  }
  return shares;
}

std::vector<std::int32_t> words_of(const Examples& examples, std::span<const std::int64_t> chosen,
                                   std::int32_t padding) {
  std::vector<std::int32_t> words;
  for (const std::int64_t example : chosen) {
    words.insert(words.end(), examples.ids.begin() + examples.first_token(example),
                 examples.ids.begin() + examples.first_token(example + 1));
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  // As in nn.Embedding(padding_idx), the padding row gets no gradient (model.cc).
  std::erase(words, padding);
  return words;
}

}  // namespace dtl::trainer
