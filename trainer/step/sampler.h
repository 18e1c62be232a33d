#pragma once
// Which examples make up a step, and which rank works on which of them. Pure functions: all ranks
// pass the same arguments and get the same result, so nothing is sent.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/examples.h"

namespace dtl::trainer {

// The permutation of 0 .. count-1 that torch.randperm gives with a CPU generator of this seed.
std::vector<std::int64_t> random_order(std::int64_t count, std::uint64_t seed);

// Divides `chosen` so that ranks get nearly equal numbers of tokens: longest first, each to the
// rank with the fewest. Each share keeps the order of `chosen`.
std::vector<std::vector<std::int64_t>> deal(const Examples& examples,
                                            std::span<const std::int64_t> chosen, int ranks);

// The ids that occur in `chosen`, sorted, without `padding`: the rows of the word embeddings that
// get a gradient.
std::vector<std::int32_t> words_of(const Examples& examples, std::span<const std::int64_t> chosen,
                                   std::int32_t padding);

}  // namespace dtl::trainer
