#include "trainer/batch.h"

namespace dtl::trainer {

Batch make_batch(const Examples& examples, std::span<const std::int64_t> chosen) {
  Batch batch;
  const std::int64_t outputs =
      examples.targets.empty()
          ? 0
          : static_cast<std::int64_t>(examples.targets.size()) / examples.size();
  for (const std::int64_t example : chosen) {
    const auto e = static_cast<std::size_t>(example);
    const std::int64_t begin = examples.starts[e], end = examples.starts[e + 1];
    batch.ids.insert(batch.ids.end(), examples.ids.begin() + begin, examples.ids.begin() + end);
    batch.types.insert(batch.types.end(), examples.types.begin() + begin,
                       examples.types.begin() + end);
    for (std::int64_t i = begin; i < end; ++i) {
      batch.positions.push_back(static_cast<std::int32_t>(i - begin));
    }
    batch.starts.push_back(batch.starts.back() + end - begin);
    if (!examples.labels.empty()) batch.labels.push_back(examples.labels[e]);
    if (!examples.answer_starts.empty()) {
      batch.answer_starts.push_back(examples.answer_starts[e]);
      batch.answer_ends.push_back(examples.answer_ends[e]);
    }
    const auto row = examples.targets.begin() + example * outputs;
    batch.targets.insert(batch.targets.end(), row, row + outputs);
    batch.numbers.push_back(static_cast<std::uint32_t>(example));
  }
  return batch;
}

}  // namespace dtl::trainer
