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
    // Equal scores make one step: which of them comes first is chance, and must not change the
    // figure.
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      (truth[order[i]] != 0 ? positives : negatives) += 1;
    }
    take(positives, negatives);
  }
}

std::vector<std::size_t> best_first(RankedPassages passages) {
  std::vector<std::size_t> order(passages.size());
  std::iota(order.rbegin(), order.rend(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return passages[a].score > passages[b].score;
  });
  return order;
}

// Calls take(relevant, size) for each group of equal scores, the highest first.
template <class Take>
void for_equal_scores(RankedPassages passages, const Take& take) {
  const std::vector<std::size_t> order = best_first(passages);
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin, relevant = 0;
    while (end < order.size() && passages[order[end]].score == passages[order[begin]].score) {
      relevant += passages[order[end++]].relevant ? 1 : 0;
    }
    take(relevant, end - begin);
    begin = end;
  }
}

// Sum of the discounts 1 / log2(1 + place) of the places first + 1 .. last that are within k.
double discounts(std::size_t first, std::size_t last, std::size_t k) {
  double sum = 0;
  for (std::size_t place = first + 1; place <= std::min(last, k); ++place) {
    sum += 1 / std::log2(1 + static_cast<double>(place));
  }
  return sum;
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

double reciprocal_rank(RankedPassages passages, std::size_t k) {
  const std::vector<std::size_t> order = best_first(passages);
  for (std::size_t place = 0; place < std::min(k, order.size()); ++place) {
    if (passages[order[place]].relevant) return 1 / static_cast<double>(place + 1);
  }
  return 0;
}

double ndcg(RankedPassages passages, std::size_t k) {
  double gain = 0;
  std::size_t seen = 0, all_relevant = 0;
  for_equal_scores(passages, [&](std::size_t relevant, std::size_t size) {
    // The mean over all orders of equal scores, as scikit-learn's ndcg_score with ties.
    const double mean = static_cast<double>(relevant) / static_cast<double>(size);
    gain += mean * discounts(seen, seen + size, k);
    seen += size;
    all_relevant += relevant;
  });
  return all_relevant == 0 ? 0 : gain / discounts(0, all_relevant, k);
}

double average_precision(RankedPassages passages) {
  std::vector<std::uint8_t> truth;
  std::vector<double> scores;
  for (const RankedPassage& passage : passages) {
    truth.push_back(passage.relevant ? 1 : 0);
    scores.push_back(passage.score);
  }
  return average_precision(truth, scores);
}

std::vector<std::size_t> places(RankedPassages passages) {
  const std::vector<std::size_t> order = best_first(passages);
  std::vector<std::size_t> result(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) result[order[place]] = place + 1;
  return result;
}

}  // namespace dtl::trainer
