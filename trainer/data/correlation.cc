// Two-pass sums in double.
#include "trainer/data/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "trainer/maths/plain_nan.h"

namespace dtl::trainer {
namespace {

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xy += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  // This form of the condition also catches NaN.
  if (!(xx > 0 && yy > 0)) return std::numeric_limits<double>::quiet_NaN();
  // Rounding may give 1.0000000000000002.
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

bool has_nan(Numbers values) {
  return std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
}

// Ranks from 1 for the smallest value; equal values share their mean rank. NaN is not allowed.
std::vector<double> ranks(Numbers values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    // The mean of begin + 1 .. end.
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) result[order[i]] = rank;
  }
  return result;
}

}  // namespace

double mean_squared_error(Numbers truth, Numbers answers) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double d = static_cast<double>(truth[i]) - static_cast<double>(answers[i]);
    sum += d * d;
  }
  return plain_nan(truth.empty() ? 0.0 : sum / static_cast<double>(truth.size()));
}

double mean_absolute_error(Numbers truth, Numbers answers) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    sum += std::abs(static_cast<double>(truth[i]) - static_cast<double>(answers[i]));
  }
  return plain_nan(truth.empty() ? 0.0 : sum / static_cast<double>(truth.size()));
}

double r_squared(Numbers truth, Numbers answers) {
  if (truth.empty()) return 0;
  const double mean =
      std::accumulate(truth.begin(), truth.end(), 0.0) / static_cast<double>(truth.size());
  double total = 0;
  for (const float value : truth) total += std::pow(static_cast<double>(value) - mean, 2);
  const double error = mean_squared_error(truth, answers) * static_cast<double>(truth.size());
  if (total == 0) return error == 0 ? 1.0 : 0.0;
  return plain_nan(1 - error / total);
}

double pearson(Numbers truth, Numbers answers) {
  return correlation({truth.begin(), truth.end()}, {answers.begin(), answers.end()});
}

double spearman(Numbers truth, Numbers answers) {
  if (has_nan(truth) || has_nan(answers)) return std::numeric_limits<double>::quiet_NaN();
  return correlation(ranks(truth), ranks(answers));
}

}  // namespace dtl::trainer
