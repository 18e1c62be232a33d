#include "trainer/evaluate.h"

#include <algorithm>
#include <cmath>

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kPredictionTag = 0xFFFF0002;

double cross_entropy(const float* logits, std::size_t classes, std::int32_t label) {
  const float highest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c)
    sum += std::exp(static_cast<double>(logits[c] - highest));
  return std::log(sum) - static_cast<double>(logits[label] - highest);
}

}  // namespace

// Each rank fills the rows of its own examples and leaves zeros elsewhere, so the sum over the
// ranks is exact.
std::vector<float> predict(Model<float>& model, const std::vector<float>& parameters,
                           const Examples& examples, std::int64_t batch_per_rank, Group& group) {
  const auto classes = static_cast<std::int64_t>(model.config().labels.size());
  std::vector<float> all(static_cast<std::size_t>(examples.size() * classes));
  std::vector<std::int64_t> mine;
  for (std::int64_t i = group.rank(); i < examples.size(); i += group.size()) mine.push_back(i);
  const auto step = static_cast<std::size_t>(batch_per_rank);
  for (std::size_t begin = 0; begin < mine.size(); begin += step) {
    const std::span<const std::int64_t> chosen(mine.data() + begin,
                                               std::min(step, mine.size() - begin));
    const float* logits = model.forward(parameters.data(), make_batch(examples, chosen), nullptr);
    for (const std::int64_t example : chosen) {
      std::copy_n(logits, classes, all.begin() + example * classes);
      logits += classes;
    }
  }
  group.sum(all.data(), all.size(), kPredictionTag);
  return all;
}

std::int32_t best_label(const float* logits, std::size_t classes) {
  return static_cast<std::int32_t>(std::max_element(logits, logits + classes) - logits);
}

// F1 of a class: 2 hits / (predicted + present), 0 where neither occurs.
Metrics measure(const Examples& examples, const std::vector<float>& logits) {
  const std::size_t size = logits.size() / std::max<std::size_t>(1, examples.labels.size());
  std::vector<double> hits(size), predicted(size), present(size);
  Metrics metrics;
  const auto count = static_cast<double>(std::max<std::size_t>(1, examples.labels.size()));
  for (std::size_t i = 0; i < examples.labels.size(); ++i) {
    const float* row = logits.data() + i * size;
    const auto truth = static_cast<std::size_t>(examples.labels[i]);
    const auto answer = static_cast<std::size_t>(best_label(row, size));
    present[truth] += 1;
    predicted[answer] += 1;
    if (truth == answer) hits[truth] += 1;
    metrics.loss += cross_entropy(row, size, examples.labels[i]) / count;
  }
  std::vector<double> f1(size);
  for (std::size_t c = 0; c < size; ++c) {
    metrics.accuracy += hits[c] / count;
    metrics.majority_share = std::max(metrics.majority_share, present[c] / count);
    const double both = predicted[c] + present[c];
    f1[c] = both > 0 ? 2 * hits[c] / both : 0.0;
    metrics.f1 += f1[c] / static_cast<double>(size);
  }
  if (size == 2) metrics.f1 = f1[1];
  return metrics;
}

}  // namespace dtl::trainer
