// Sums in double; correlations are those of data/metrics.h.
#include "trainer/embeddings/embedding_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtl::trainer {

double row_length(const float* row, std::int64_t dimensions) {
  double sum = 0;
  for (std::int64_t d = 0; d < dimensions; ++d) sum += static_cast<double>(row[d]) * row[d];
  return std::sqrt(sum);
}

std::vector<float> cosines(const EmbeddingTable& table, std::int64_t text) {
  std::vector<float> values;
  const std::int64_t D = table.dimensions;
  for (std::int64_t example = 0; example < table.examples(); ++example) {
    const float* a = table.row(example, 0);
    const float* b = table.row(example, text);
    double dot = 0;
    for (std::int64_t d = 0; d < D; ++d) dot += static_cast<double>(a[d]) * b[d];
    const double lengths =
        std::max(row_length(a, D), kShortest) * std::max(row_length(b, D), kShortest);
    values.push_back(static_cast<float>(dot / lengths));
  }
  return values;
}

MetricList similarity_metrics(const EmbeddingTable& table, std::span<const float> scores) {
  const std::vector<float> similarity = cosines(table, 1);
  return {{"pearson_cosine", pearson(scores, similarity)},
          {"spearman_cosine", spearman(scores, similarity)}};
}

std::vector<float> triplet_margins(const EmbeddingTable& table) {
  std::vector<float> margins = cosines(table, 1);
  std::vector<float> nearest(margins.size(), -std::numeric_limits<float>::infinity());
  for (std::int64_t text = 2; text < table.texts; ++text) {
    const std::vector<float> negative = cosines(table, text);
    for (std::size_t i = 0; i < nearest.size(); ++i) nearest[i] = std::max(nearest[i], negative[i]);
  }
  for (std::size_t i = 0; i < margins.size(); ++i) margins[i] -= nearest[i];
  return margins;
}

MetricList triplet_metrics(const EmbeddingTable& table) {
  const std::vector<float> margins = triplet_margins(table);
  const auto right = std::count_if(margins.begin(), margins.end(), [](float m) { return m > 0; });
  return {{"cosine_accuracy",
           static_cast<double>(right) / std::max(1.0, static_cast<double>(margins.size()))}};
}

}  // namespace dtl::trainer
