// Copies the chosen examples into one flat matrix, in the order of `chosen`. trainer/step/sampler.h
// chooses the examples and limits their lengths.
#include "trainer/layers/batch.h"

#include <algorithm>

namespace dtl::trainer {

Batch make_batch(const Examples& examples, std::span<const std::int64_t> chosen,
                 const Padding& padding) {
  Batch batch;
  batch.texts = examples.texts;
  // C, the targets of one example; 0 if the data set has labels or answers instead.
  const std::int64_t outputs =
      examples.targets.empty()
          ? 0
          : static_cast<std::int64_t>(examples.targets.size()) / examples.size();
  const auto add_text = [&](std::int64_t text) {
    const auto t = static_cast<std::size_t>(text);
    const std::int64_t begin = examples.starts[t], end = examples.starts[t + 1];
    batch.ids.insert(batch.ids.end(), examples.ids.begin() + begin, examples.ids.begin() + end);
    batch.types.insert(batch.types.end(), examples.types.begin() + begin,
                       examples.types.begin() + end);
    // An example longer than the padding keeps its length.
    const std::int64_t length = std::max(end - begin, padding.length);
    for (std::int64_t i = 0; i < length; ++i) {
      batch.positions.push_back(static_cast<std::int32_t>(i));
    }
    batch.starts.push_back(batch.starts.back() + length);
    batch.ids.resize(batch.positions.size(), padding.token);
    batch.types.resize(batch.positions.size(), 0);
    if (!examples.token_labels.empty()) {
      batch.token_labels.insert(batch.token_labels.end(), examples.token_labels.begin() + begin,
                                examples.token_labels.begin() + end);
      batch.token_labels.resize(batch.positions.size(), kNoLabel);
    }
    batch.own_lengths.push_back(end - begin);
    batch.numbers.push_back(static_cast<std::uint32_t>(text));
  };
  for (const std::int64_t example : chosen) {
    for (std::int64_t text = 0; text < examples.texts; ++text) {
      add_text(example * examples.texts + text);
    }
    const auto e = static_cast<std::size_t>(example);
    if (!examples.labels.empty()) batch.labels.push_back(examples.labels[e]);
    if (!examples.answer_starts.empty()) {
      batch.answer_starts.push_back(examples.answer_starts[e]);
      batch.answer_ends.push_back(examples.answer_ends[e]);
    }
    // A data set without targets has outputs = 0: this appends nothing.
    const auto row = examples.targets.begin() + example * outputs;
    batch.targets.insert(batch.targets.end(), row, row + outputs);
  }
  return batch;
}

}  // namespace dtl::trainer
