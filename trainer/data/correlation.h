#pragma once
// How near predicted numbers are to the true ones, with the formulas of scikit-learn and scipy.
// Pure functions; both sides have the same length. Undefined figures are NaN, without a sign.

#include <span>

namespace dtl::trainer {

using Numbers = std::span<const float>;

double mean_squared_error(Numbers truth, Numbers answers);
double mean_absolute_error(Numbers truth, Numbers answers);
// 1 - squared error / variance of the truth; for constant truth 1 without error, else 0.
double r_squared(Numbers truth, Numbers answers);
double pearson(Numbers truth, Numbers answers);  // NaN if a side is constant
// On ranks; equal values share their mean rank.
double spearman(Numbers truth, Numbers answers);

}  // namespace dtl::trainer
