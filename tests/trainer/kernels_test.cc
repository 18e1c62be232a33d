#include "trainer/maths/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace dtl::trainer::kernels_test {
namespace {

constexpr std::int64_t kCols = 1003;  // vectors do not divide it

// From -8 to 8, where erf and exp take every branch.
std::vector<float> inputs() {
  std::vector<float> x(kCols);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.016F - 8.0F;
  return x;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

TEST(Kernels, GeluIsThatOfItsFormula) {
  std::vector<float> u = inputs(), bias(kCols, 0.0F), g(kCols);
  kernels<float>().activation(Activation::kGelu, 1, kCols, u.data(), bias.data(), g.data());
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double exact = gelu(static_cast<double>(u[i]));
    EXPECT_NEAR(static_cast<double>(g[i]), exact, 1e-6) << u[i];
  }
}

TEST(Kernels, SlopeOfGeluIsThatOfItsFormula) {
  const std::vector<float> u = inputs();
  std::vector<float> d(kCols, 1.0F), dbias(kCols, 0.0F), g(kCols);
  kernels<float>().activation_backward(Activation::kGelu, 1, kCols, u.data(), d.data(),
                                       dbias.data(), g.data());
  for (std::size_t i = 0; i < d.size(); ++i) {
    const double x = static_cast<double>(u[i]), h = 1e-5;
    EXPECT_NEAR(static_cast<double>(d[i]), (gelu(x + h) - gelu(x - h)) / (2 * h), 1e-6) << x;
  }
}

TEST(Kernels, SoftmaxIsThatOfItsFormula) {
  const std::vector<float> scores = inputs();
  std::vector<float> p = scores;
  kernels<float>().softmax(1, kCols, 4.0F, p.data(), nullptr, 1.0F, p.data());
  const double highest = static_cast<double>(scores.back());
  double sum = 0;
  for (const float s : scores) sum += std::exp(4 * (static_cast<double>(s) - highest));
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double exact = std::exp(4 * (static_cast<double>(scores[i]) - highest)) / sum;
    EXPECT_NEAR(static_cast<double>(p[i]) / exact, 1, 1e-5) << scores[i];
  }
}

}  // namespace
}  // namespace dtl::trainer::kernels_test
