#pragma once
// Figures of groups of embeddings, as sentence-transformers' evaluators define them. embeddings
// [examples * texts, D]. Pure functions.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/metrics.h"

namespace dtl::trainer {

constexpr double kShortest = 1e-12;  // torch's normalize divides by no shorter length

double row_length(const float* row, std::int64_t dimensions);  // L2

struct EmbeddingTable {
  std::span<const float> values;
  std::int64_t texts = 2;  // of each example
  std::int64_t dimensions = 1;
  std::int64_t examples() const {
    return static_cast<std::int64_t>(values.size()) / (texts * dimensions);
  }
  const float* row(std::int64_t example, std::int64_t text) const {
    return values.data() + (example * texts + text) * dimensions;
  }
};

// Of each example's first text with its `text`-th.
std::vector<float> cosines(const EmbeddingTable& table, std::int64_t text);

// EmbeddingSimilarityEvaluator: pearson_cosine and spearman_cosine of pairs with scores.
MetricList similarity_metrics(const EmbeddingTable& table, std::span<const float> scores);

// TripletEvaluator: cosine_accuracy, the share of examples whose first text is closer to the second
// than to the third; of several negatives, than to each of them.
MetricList triplet_metrics(const EmbeddingTable& table);
// Of each example: the cosine with the positive less the largest one with a negative.
std::vector<float> triplet_margins(const EmbeddingTable& table);

}  // namespace dtl::trainer
