// The sum of a softmax goes from the smallest term to the largest, so it does not depend on the
// order of labels: otherwise the last bit would break ties of a ranking.
#include "trainer/data/label_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtl::trainer {
namespace {

void softmax(std::span<double> row, std::vector<double>& sorted) {
  const double highest = *std::max_element(row.begin(), row.end());
  // Subtracting the highest keeps exp() at most 1.
  for (double& value : row) value = std::exp(value - highest);
  sorted.assign(row.begin(), row.end());
  // NaN has no order.
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::none_of(sorted.begin(), sorted.end(), is_nan)) std::sort(sorted.begin(), sorted.end());
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  for (double& value : row) value /= sum;
}

}  // namespace

std::vector<double> label_probabilities(Problem problem, std::span<const float> logits,
                                        std::size_t classes) {
  std::vector<double> values(logits.begin(), logits.end());
  if (problem == Problem::kMultiLabel) {
    for (double& value : values) value = 1 / (1 + std::exp(-value));
    return values;
  }
  std::vector<double> sorted;
  for (std::size_t at = 0; at < values.size(); at += classes) {
    softmax(std::span(values).subspan(at, classes), sorted);
  }
  return values;
}

float logit_of(double probability) {
  return static_cast<float>(std::log(probability / (1 - probability)));
}

}  // namespace dtl::trainer
