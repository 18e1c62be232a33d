#include "trainer/maths/polynomials.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dtl::trainer::polynomials_test {
namespace {

using Limits = std::numeric_limits<float>;
using Four = Polynomials;

// The distance from the exact value, in units of the last place of the float nearest to it.
double error_in_ulp(float result, double exact) {
  if (std::isnan(exact)) return std::isnan(result) ? 0 : Limits::infinity();
  const auto nearest = static_cast<float>(exact);
  if (result == nearest) return 0;
  if (std::isinf(result) || std::isinf(nearest)) return Limits::infinity();
  const float size = std::fabs(nearest);
  const double unit =
      static_cast<double>(std::nextafter(size, Limits::infinity())) - static_cast<double>(size);
  return std::fabs(static_cast<double>(result) - exact) / unit;
}

// The largest error of the function over every float, but for those that `stride` jumps over.
template <class Function, class Exact>
double largest_error(const Function& function, const Exact& exact, std::uint64_t stride) {
  double largest = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4 * stride) {
    Four::Floats x;
    for (int lane = 0; lane < 4; ++lane) {
      const std::uint64_t at = bits + static_cast<std::uint64_t>(lane) * stride;
      x[lane] = std::bit_cast<float>(static_cast<std::uint32_t>(at));
    }
    const Four::Floats y = function(x);
    for (int lane = 0; lane < 4; ++lane) {
      const double error = error_in_ulp(y[lane], exact(static_cast<double>(x[lane])));
      if (error > largest) largest = error;
    }
  }
  return largest;
}

constexpr std::uint64_t kStride = 4099;  // a prime number, so that all last bits occur

TEST(Polynomials, ExpHasTheErrorOfLibmvecAtMost) {
  EXPECT_LE(largest_error(
                Four::exp, [](double x) { return std::exp(x); }, kStride),
            2.0);
}

TEST(Polynomials, ErfHasTheErrorOfLibmvecAtMost) {
  EXPECT_LE(largest_error(
                Four::erf, [](double x) { return std::erf(x); }, kStride),
            2.0);
}

TEST(Polynomials, KnowTheEndsOfTheRange) {
  const Four::Floats ends = {Limits::infinity(), -Limits::infinity(), 0.0F, Limits::quiet_NaN()};
  const Four::Floats exp = Four::exp(ends), erf = Four::erf(ends);
  EXPECT_EQ(exp[0], Limits::infinity());
  EXPECT_EQ(exp[1], 0.0F);
  EXPECT_EQ(exp[2], 1.0F);
  EXPECT_TRUE(std::isnan(exp[3]));
  EXPECT_EQ(erf[0], 1.0F);
  EXPECT_EQ(erf[1], -1.0F);
  EXPECT_EQ(erf[2], 0.0F);
  EXPECT_TRUE(std::isnan(erf[3]));
  EXPECT_TRUE(std::signbit(Four::erf(Four::Floats{-0.0F})[0]));
}

}  // namespace
}  // namespace dtl::trainer::polynomials_test
