#pragma once
// Batch: the sequences of one forward pass on one rank, as one flat matrix of tokens. An example
// has `texts` sequences next to each other, usually one (data/examples.h). Sequences may end in
// padding, to which other tokens do not attend. Only a model that learns from the outputs of
// padding (QaLoss::kPadded) needs it.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/examples.h"

namespace dtl::trainer {

struct Batch {
  std::vector<std::int32_t> ids;               // [T]
  std::vector<std::int8_t> types;              // [T]
  std::vector<std::int32_t> positions;         // [T], from 0 in each sequence
  std::vector<std::int64_t> starts{0};         // [B + 1]
  std::vector<std::int64_t> own_lengths = {};  // [B], tokens of each sequence that are not padding
  std::vector<std::uint32_t> numbers;          // [B], the text's index in its data set
  std::int64_t texts = 1;                      // of each example
  // As in Examples; E = B / texts.
  std::vector<std::int32_t> labels;                      // [E]
  std::vector<float> targets;                            // [E, C]
  std::vector<std::int32_t> answer_starts, answer_ends;  // [E]
  std::vector<std::int32_t> token_labels;                // [T]; padding: kNoLabel

  // Masked language models: rows of ids that were masked, in order, and what they were.
  std::vector<std::int64_t> masked;
  std::vector<std::int32_t> originals;

  std::int64_t examples() const { return sequences() / texts; }
  std::int64_t sequences() const { return static_cast<std::int64_t>(numbers.size()); }
  std::int64_t tokens() const { return starts.back(); }
  std::int64_t length(std::int64_t sequence) const {
    const auto s = static_cast<std::size_t>(sequence);
    return starts[s + 1] - starts[s];
  }
  std::int64_t own_length(std::int64_t sequence) const {
    return own_lengths[static_cast<std::size_t>(sequence)];
  }
};

// Tokens that extend shorter sequences to `length`, with type 0 and continued positions, as Hugging
// Face's tokenizers do with padding="max_length". length 0: none. length must not exceed the
// model's positions.
struct Padding {
  std::int64_t length = 0;
  std::int32_t token = 0;
};

Batch make_batch(const Examples& examples, std::span<const std::int64_t> chosen,
                 const Padding& padding = {});

}  // namespace dtl::trainer
