#pragma once
// Batch: the sequences that one rank works on at once, as one flat matrix of tokens.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/examples.h"

namespace dtl::trainer {

struct Batch {
  std::vector<std::int32_t> ids;        // [T]
  std::vector<std::int8_t> types;       // [T]
  std::vector<std::int32_t> positions;  // [T], from 0 in each sequence
  std::vector<std::int64_t> starts{0};  // [B + 1]
  // As of Examples.
  std::vector<std::int32_t> labels;                      // [B]
  std::vector<float> targets;                            // [B, C]
  std::vector<std::int32_t> answer_starts, answer_ends;  // [B]
  std::vector<std::uint32_t> numbers;                    // [B], the example's index in its data set

  std::int64_t sequences() const { return static_cast<std::int64_t>(numbers.size()); }
  std::int64_t tokens() const { return starts.back(); }
  std::int64_t length(std::int64_t sequence) const {
    const auto s = static_cast<std::size_t>(sequence);
    return starts[s + 1] - starts[s];
  }
};

Batch make_batch(const Examples& examples, std::span<const std::int64_t> chosen);

}  // namespace dtl::trainer
