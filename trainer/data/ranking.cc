// Sorts once and walks down the scores, a step for each distinct score.
#include "trainer/data/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dtl::trainer {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

bool has_nan(RankedScores scores) {
  return std::any_of(scores.begin(), scores.end(), [](double score) { return std::isnan(score); });
}

// Calls take(positives, negatives) for each distinct score, highest first, with the examples that
// have it.
template <class Take>
void for_steps(PositiveFlags truth, RankedScores scores, const Take& take) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (std::size_t i = 0; i < order.size();) {
    const double score = scores[order[i]];
    double positives = 0, negatives = 0;
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      (truth[order[i]] != 0 ? positives : negatives) += 1;
    }
    take(positives, negatives);
  }
}

}  // namespace

double roc_auc(PositiveFlags truth, RankedScores scores) {
  if (has_nan(scores)) return kUndefined;
  double above = 0, negatives_so_far = 0, pairs = 0;
  for_steps(truth, scores, [&](double positives, double negatives) {
    // Trapezoids over the axis of false positives.
    pairs += negatives * (above + positives / 2);
    above += positives;
    negatives_so_far += negatives;
  });
  if (above == 0 || negatives_so_far == 0) return kUndefined;
  return pairs / above / negatives_so_far;
}

double average_precision(PositiveFlags truth, RankedScores scores) {
  if (has_nan(scores)) return kUndefined;
  double hits = 0, taken = 0, sum = 0;
  for_steps(truth, scores, [&](double positives, double negatives) {
    hits += positives;
    taken += positives + negatives;
    sum += positives * hits / taken;
  });
  return hits > 0 ? sum / hits : 0.0;
}

std::vector<double> of_columns(RankingFigure figure, PositiveFlags truth, RankedScores scores,
                               std::size_t columns) {
  std::vector<double> values;
  const std::size_t rows = scores.size() / std::max<std::size_t>(1, columns);
  std::vector<std::uint8_t> truths(rows);
  std::vector<double> column(rows);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r) {
      truths[r] = truth[r * columns + c];
      column[r] = scores[r * columns + c];
    }
    values.push_back(figure(truths, column));
  }
  return values;
}

double macro_mean(const std::vector<double>& values) {
  if (values.empty()) return kUndefined;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return sum / static_cast<double>(values.size());
}

double weighted_mean(const std::vector<double>& values, PositiveFlags truth) {
  std::vector<double> weights(values.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    weights[i % weights.size()] += truth[i] != 0 ? 1 : 0;
  }
  double sum = 0, weight = 0;
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (weights[c] > 0) sum += weights[c] * values[c];
    weight += weights[c];
  }
  return weight > 0 ? sum / weight : 0.0;
}

}  // namespace dtl::trainer
