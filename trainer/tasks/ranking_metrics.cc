// Sorts copies; a query has few passages.
#include "trainer/tasks/ranking_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "trainer/data/ranking.h"

namespace dtl::trainer {
namespace {

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
