#pragma once
// Rows of doubles, and the same rows divided by their lengths, for losses that compare directions.
// Plain values.

#include <cstdint>
#include <vector>

namespace dtl::trainer {

// Shorter rows are divided by this, as by torch's normalize.
constexpr double kLeastLength = 1e-12;

// [rows, cols], at first zeros.
struct Rows {
  std::int64_t rows, cols;
  std::vector<double> values;
  Rows(std::int64_t row_count, std::int64_t col_count)
      : rows(row_count), cols(col_count), values(static_cast<std::size_t>(rows * cols)) {}
  double* row(std::int64_t r) { return values.data() + r * cols; }
  const double* row(std::int64_t r) const { return values.data() + r * cols; }
};

double dot(const double* x, const double* y, std::int64_t count);

// y = x / max(|x|, least) for each row, as torch's normalize(x, eps=least).
struct UnitRows {
  Rows rows;
  std::vector<double> lengths;
  double least;

  UnitRows(const Rows& x, double least_length);
  // Turns the gradient at y into that at x, in place: (dy - y (y . dy)) / |x|. The length of a
  // shorter row does not count.
  void backward(Rows& d) const;
};

}  // namespace dtl::trainer
