#include "trainer/maths/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <random>

#include "trainer/maths/gemm_bf16.h"
#include "trainer/maths/kernels.h"

namespace dtl::trainer::gemm_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float from_bf16(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

// Floats of every exponent and sign: random bits, NaNs left out.
std::vector<float> random_bits(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values;
  while (values.size() < count) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

TEST(Bf16Rounding, ErrsByAtMostOnePartIn256) {
  for (const float value : random_bits(100000, 1)) {
    const float rounded = from_bf16(to_bf16(value));
    if (std::isinf(rounded)) {  // the largest finite one is 2^128 (1 - 2^-8); half a step beyond
      EXPECT_GE(std::abs(static_cast<double>(value)), std::ldexp(1.0 - std::ldexp(1.0, -9), 128));
      continue;
    }
    const double error = std::abs(static_cast<double>(rounded) - static_cast<double>(value));
    const double bound = std::max(std::ldexp(std::abs(static_cast<double>(value)), -8),
                                  std::ldexp(1.0, -134));  // half a step of the denormals
    EXPECT_LE(error, bound) << value;
  }
}

TEST(Bf16Rounding, TakesTheNearerNeighbourAndTheEvenOneOfTwo) {
  EXPECT_EQ(to_bf16(1.0F), 0x3F80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F808000U)), 0x3F80);  // half way, down to even
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F818000U)), 0x3F82);  // half way, up to even
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F817FFFU)), 0x3F81);
}

TEST(Bf16Rounding, IsMonotoneAndLeavesBf16Alone) {
  std::vector<float> values = random_bits(20000, 2);
  std::sort(values.begin(), values.end());
  for (std::size_t i = 1; i < values.size(); ++i) {
    EXPECT_LE(from_bf16(to_bf16(values[i - 1])), from_bf16(to_bf16(values[i])));
    EXPECT_EQ(to_bf16(from_bf16(to_bf16(values[i]))), to_bf16(values[i]));
  }
}

TEST(Bf16Rounding, KeepsNotANumbersInfinitiesAndTheSignOfZero) {
  for (const std::uint32_t bits : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU, 0x7FFFFFFFU}) {
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(bits))))) << bits;
  }
  EXPECT_EQ(from_bf16(to_bf16(kInfinity)), kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(-kInfinity)), -kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(to_bf16(0.0F), 0);
  EXPECT_EQ(to_bf16(-0.0F), 0x8000);
}

TEST(Bf16Rounding, IsTheSameInTheVectorLoops) {
  std::vector<float> values = random_bits(10007, 3);
  for (const std::uint32_t bits : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU, 0x7F800000U, 0U}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<Bf16> narrow(values.size());
  std::vector<float> wide(values.size());
  rounding_kernels().to_bf16(count, values.data(), narrow.data());
  rounding_kernels().round_to_bf16(count, values.data(), wide.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(narrow[i], to_bf16(values[i])) << values[i];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(wide[i]), static_cast<std::uint32_t>(to_bf16(values[i]))
                                                         << 16)
        << values[i];
  }
}

// A product with gaps between the rows of every matrix, and C random before.
struct Problem {
  std::int64_t m, n, k;
  Op a_op, b_op;
  float beta;
  std::vector<float> a = {}, b = {}, c = {};
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;

  Problem(std::int64_t rows, std::int64_t cols, std::int64_t depth, Op left, Op right, float keep)
      : m(rows), n(cols), k(depth), a_op(left), b_op(right), beta(keep) {
    std::mt19937 random(static_cast<unsigned>(rows * 7 + cols * 3 + depth));
    std::normal_distribution<float> normal;
    const auto fill = [&](std::int64_t height, std::int64_t width, std::int64_t& stride) {
      stride = width + 3;
      std::vector<float> values(static_cast<std::size_t>(height * stride));
      for (float& value : values) value = normal(random);
      return values;
    };
    a = a_op == Op::kNone ? fill(m, k, a_stride) : fill(k, m, a_stride);
    b = b_op == Op::kNone ? fill(k, n, b_stride) : fill(n, k, b_stride);
    c = fill(m, n, c_stride);
  }

  double a_at(std::int64_t row, std::int64_t col) const {
    const std::int64_t at = a_op == Op::kNone ? row * a_stride + col : col * a_stride + row;
    return static_cast<double>(from_bf16(to_bf16(a[static_cast<std::size_t>(at)])));
  }
  double b_at(std::int64_t row, std::int64_t col) const {
    const std::int64_t at = b_op == Op::kNone ? row * b_stride + col : col * b_stride + row;
    return static_cast<double>(from_bf16(to_bf16(b[static_cast<std::size_t>(at)])));
  }
};

// `got` against sums of rounded operands in double, relative to the sum of magnitudes.
void expect_rounded_product(const Problem& p, const std::vector<float>& got, double tolerance) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const auto at = static_cast<std::size_t>(i * p.c_stride + j);
      double sum = static_cast<double>(p.beta) * static_cast<double>(p.c[at]);
      double size = std::abs(sum);
      for (std::int64_t q = 0; q < p.k; ++q) {
        const double term = p.a_at(i, q) * p.b_at(q, j);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(static_cast<double>(got[at]), sum, tolerance * size)
          << p.m << " x " << p.n << " x " << p.k << " at " << i << ", " << j;
    }
  }
}

void expect_gaps_untouched(const Problem& p, const std::vector<float>& got) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = p.n; j < p.c_stride; ++j) {
      const auto at = static_cast<std::size_t>(i * p.c_stride + j);
      ASSERT_EQ(got[at], p.c[at]);
    }
  }
}

std::vector<Problem> problems() {
  std::vector<Problem> result;
  const Op plain = Op::kNone, turned = Op::kTranspose;
  for (const float beta : {0.0F, 1.0F}) {
    for (const auto& [a, b] : {std::pair(plain, turned), {plain, plain}, {turned, plain}}) {
      result.emplace_back(1, 1, 1, a, b, beta);
      result.emplace_back(37, 41, 64, a, b, beta);
      result.emplace_back(5, 70, 129, a, b, beta);
      result.emplace_back(200, 390, 33, a, b, beta);  // more than one tile each way
    }
  }
  return result;
}

void expect_right(Precision precision) {
  for (const Problem& p : problems()) {
    std::vector<float> alone = p.c, shared = p.c;
    const Matrix<float> a{p.a.data(), p.a_stride, p.a_op}, b{p.b.data(), p.b_stride, p.b_op};
    gemm<float>({p.m, p.n, p.k}, 1.0F, a, b, p.beta, {alone.data(), p.c_stride}, precision);
    expect_rounded_product(p, alone, 1e-6);
    expect_gaps_untouched(p, alone);
    ThreadPool pool(3, false);
    matmul<float>(pool, {p.m, p.n, p.k}, a, b, p.beta, {shared.data(), p.c_stride}, precision);
    expect_rounded_product(p, shared, 1e-6);
    expect_gaps_untouched(p, shared);
  }
}

TEST(MixedPrecision, MultipliesRoundedOperandsInEmulation) {
  expect_right(Precision::kBf16Emulated);
}

TEST(MixedPrecision, MultipliesRoundedOperandsByTheCpusInstructions) {
  if (!bf16_support().available) GTEST_SKIP() << bf16_support().reason;
  expect_right(Precision::kBf16);
}

TEST(MixedPrecision, GivesTheSameBitsForAnyNumberOfThreads) {
  const bool native = bf16_support().available;
  for (const Precision precision :
       {Precision::kBf16Emulated, native ? Precision::kBf16 : Precision::kFloat32}) {
    const Problem p(500, 800, 70, Op::kNone, Op::kTranspose, 0.0F);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads, false);
      results.push_back(p.c);
      matmul<float>(pool, {p.m, p.n, p.k}, {p.a.data(), p.a_stride, p.a_op},
                    {p.b.data(), p.b_stride, p.b_op}, p.beta, {results.back().data(), p.c_stride},
                    precision);
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

// Tiles are as high as suits the number of threads.
template <class S>
void expect_same_bits(std::int64_t m, std::int64_t n, std::int64_t k, Op a_op, Op b_op) {
  prepare_gemm();
  const auto values = [](std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> any(-1, 1);
    std::vector<S> result(static_cast<std::size_t>(count));
    for (S& value : result) value = static_cast<S>(any(random));
    return result;
  };
  const std::vector<S> a = values(m * k, 1), b = values(k * n, 2);
  std::vector<std::vector<S>> results;
  for (const int threads : {1, 2, 3, 7, 16}) {
    ThreadPool pool(threads, false);
    results.push_back(values(m * n, 3));
    matmul<S>(pool, {m, n, k}, {a.data(), a_op == Op::kNone ? k : m, a_op},
              {b.data(), b_op == Op::kNone ? n : k, b_op}, S(1), {results.back().data(), n},
              Precision::kFloat32);
    EXPECT_EQ(results.back(), results[0]) << threads << " threads";
  }
}

TEST(Matmul, GivesTheSameBitsForAnyNumberOfThreads) {
  expect_same_bits<float>(1900, 500, 300, Op::kNone, Op::kTranspose);
  expect_same_bits<float>(770, 390, 1000, Op::kNone, Op::kNone);
  expect_same_bits<float>(1537, 768, 65, Op::kTranspose, Op::kNone);
  expect_same_bits<float>(2050, 400, 1400, Op::kNone, Op::kTranspose);  // last columns: 16
  expect_same_bits<float>(2050, 388, 100, Op::kNone, Op::kNone);        // tiny: 4
  expect_same_bits<double>(1100, 400, 90, Op::kNone, Op::kTranspose);
  expect_same_bits<double>(1100, 400, 90, Op::kTranspose, Op::kNone);
}

TEST(MixedPrecision, SaysWhatTheCpuHasOrWhyNot) {
  const Bf16Support& support = bf16_support();
  EXPECT_EQ(support.available, support.reason.empty());
  if (support.available) {
    EXPECT_TRUE(support.name == "avx512_bf16" || support.name == "amx_bf16") << support.name;
  }
}

std::ptrdiff_t threads_of_this_process() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/task"), Entries());
}

// OpenMP, behind oneDNN, would start as many threads as there are CPUs: in each of ours.
TEST(MixedPrecision, StartsNoThreadsOfItsOwn) {
  if (!bf16_support().available) GTEST_SKIP() << bf16_support().reason;
  ThreadPool pool(3, false);
  const std::ptrdiff_t before = threads_of_this_process();
  const Problem p(500, 800, 300, Op::kNone, Op::kTranspose, 0.0F);
  std::vector<float> c = p.c;
  matmul<float>(pool, {p.m, p.n, p.k}, {p.a.data(), p.a_stride, p.a_op},
                {p.b.data(), p.b_stride, p.b_op}, p.beta, {c.data(), p.c_stride}, Precision::kBf16);
  EXPECT_EQ(threads_of_this_process(), before);
}

TEST(MixedPrecision, LeavesDoubleAlone) {
  const std::vector<double> a = {1.0 + 1e-12}, b = {3.0};
  double c = 0;
  gemm<double>({1, 1, 1}, 1.0, {a.data(), 1}, {b.data(), 1}, 0.0, {&c, 1},
               Precision::kBf16Emulated);
  EXPECT_EQ(c, (1.0 + 1e-12) * 3.0);
}

}  // namespace
}  // namespace dtl::trainer::gemm_test
