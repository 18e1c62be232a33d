// Sums run from the first column to the last, so equal rows give equal bits.
#include "trainer/model/unit_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtl::trainer {

double dot(const double* x, const double* y, std::int64_t count) {
  return std::inner_product(x, x + count, y, 0.0);
}

UnitRows::UnitRows(const Rows& x, double least_length) : rows(x), least(least_length) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    lengths.push_back(std::sqrt(dot(x.row(r), x.row(r), x.cols)));
    const double divisor = std::max(lengths.back(), least);
    for (std::int64_t c = 0; c < x.cols; ++c) rows.row(r)[c] /= divisor;
  }
}

void UnitRows::backward(Rows& d) const {
  for (std::int64_t r = 0; r < d.rows; ++r) {
    const double length = lengths[static_cast<std::size_t>(r)];
    const double along = length < least ? 0 : dot(rows.row(r), d.row(r), d.cols);
    for (std::int64_t c = 0; c < d.cols; ++c) {
      d.row(r)[c] = (d.row(r)[c] - rows.row(r)[c] * along) / std::max(length, least);
    }
  }
}

}  // namespace dtl::trainer
