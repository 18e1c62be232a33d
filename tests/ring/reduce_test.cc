#include "ring/arithmetic/reduce.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "ring/arithmetic/kernels.h"
#include "tests/ring/reduce_support.h"

namespace dtl::ring::reduce_test {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 1000, 4097};
constexpr std::size_t kMostElements = 4097;

// Memory that starts at an odd address and detects overruns.
class Piece {
 public:
  Piece(const std::byte* data, std::size_t bytes, std::size_t offset)
      : memory_(bytes + offset + 64, kFill), bytes_(bytes), offset_(offset) {
    if (data != nullptr && bytes > 0) std::memcpy(this->data(), data, bytes);
  }
  std::byte* data() { return memory_.data() + offset_; }
  bool is_intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < offset_ || i >= offset_ + bytes_) && memory_[i] != kFill) return false;
    }
    return true;
  }

 private:
  static constexpr std::byte kFill{0xa5};
  Bytes memory_;
  std::size_t bytes_, offset_;
};

::testing::AssertionResult same(const std::byte* got, const Bytes& expected, std::size_t bytes,
                                std::size_t element) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (got[i] != expected[i]) {
      return ::testing::AssertionFailure() << "element " << i / element << " is wrong";
    }
  }
  return ::testing::AssertionSuccess();
}

std::string title(const Kernels& kernels, int dtype, int op, std::size_t n, std::size_t count) {
  return std::string(kernels.name) + " " + dtype_name(dtype) + " " + op_name(op) + " of " +
         std::to_string(n) + " x " + std::to_string(count);
}

// combine() into separate memory, and into each operand.
void expect_combined(const Kernels& kernels, int dtype, int op, const std::vector<Bytes>& values,
                     const Bytes& expected, std::size_t count) {
  const std::size_t n = values.size(), element = element_bytes(dtype), bytes = count * element;
  std::vector<Piece> pieces;
  for (std::size_t k = 0; k < n; ++k) pieces.emplace_back(values[k].data(), bytes, 7 * k % 5);
  for (std::size_t target = 0; target <= n; ++target) {
    Piece out(target < n ? values[target].data() : nullptr, bytes, 1 + count % 3);
    std::vector<Operand> operands;
    for (std::size_t k = 0; k < n; ++k) {
      operands.push_back({k == target ? out.data() : pieces[k].data(), Wire::kExact});
    }
    combine_with(kernels, dtype, op, out.data(), operands.data(), n, count);
    ASSERT_TRUE(same(out.data(), expected, bytes, element) && out.is_intact())
        << title(kernels, dtype, op, n, count) << " into " << target;
  }
}

class Reduce : public ::testing::TestWithParam<int> {};

TEST_P(Reduce, CombinesAsTheReferenceDoes) {
  const int dtype = GetParam();
  std::mt19937_64 random(static_cast<unsigned>(dtype) + 1);
  for (int op = DT_SUM; op <= DT_BXOR; ++op) {
    if (!can_combine(dtype, op)) continue;
    std::vector<Bytes> values;
    for (std::size_t n = 1; n <= 9; ++n) {
      values.push_back(random_elements(dtype, kMostElements, random));
      const Bytes expected = combined(dtype, op == DT_AVG ? DT_SUM : op, values);
      for (const Kernels* kernels : all_kernels()) {
        for (const auto count : kCounts) {
          expect_combined(*kernels, dtype, op, values, expected, count);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(Reduce, DividesAsTheReferenceDoes) {
  const int dtype = GetParam();
  if (!can_combine(dtype, DT_AVG)) return;
  std::mt19937_64 random(static_cast<unsigned>(dtype) + 20);
  const Bytes values = random_elements(dtype, kMostElements, random);
  const std::size_t element = element_bytes(dtype);
  for (const std::uint64_t divisor :
       {1ul, 2ul, 3ul, 7ul, 128ul, 255ul, 300ul, 1ul << 31, (1ul << 32) + 1, 1ul << 63, ~0ul}) {
    const Bytes expected = divided(dtype, values, divisor);
    for (const Kernels* kernels : all_kernels()) {
      for (const auto count : kCounts) {
        Piece data(values.data(), count * element, 1);
        divide_with(*kernels, dtype, data.data(), count, divisor);
        ASSERT_TRUE(same(data.data(), expected, count * element, element) && data.is_intact())
            << title(*kernels, dtype, DT_AVG, divisor, count);
      }
    }
  }
}

TEST_P(Reduce, CombinesManyOperands) {
  const int dtype = GetParam();
  std::mt19937_64 random(static_cast<unsigned>(dtype) + 40);
  std::vector<Bytes> values;
  for (int k = 0; k < 67; ++k) values.push_back(random_elements(dtype, 100, random));
  const Bytes expected = combined(dtype, DT_SUM, values);
  for (const Kernels* kernels : all_kernels()) {
    expect_combined(*kernels, dtype, DT_SUM, values, expected, 100);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, Reduce, ::testing::Range(0, DT_BOOL + 1),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

// Operand k has the format of the k-th digit of `formats` (base 3).
void expect_mixture(const Kernels& kernels, int formats, std::size_t n, std::size_t count,
                    std::mt19937_64& random) {
  constexpr Wire kWires[] = {Wire::kExact, Wire::kBf16, Wire::kF16};
  std::vector<Piece> pieces;
  std::vector<Operand> operands;
  std::vector<Bytes> values;
  for (std::size_t k = 0; k < n; ++k, formats /= 3) {
    const Wire wire = kWires[formats % 3];
    const auto floats = random_floats(count, random);
    Bytes travels(count * wire_bytes(DT_F32, wire)), value(count * sizeof(float));
    to_wire_with(kernels, wire, travels.data(), floats.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const float one = wire == Wire::kExact ? floats[i] : widened(wire, narrowed(wire, floats[i]));
      std::memcpy(value.data() + i * sizeof one, &one, sizeof one);
    }
    pieces.emplace_back(travels.data(), travels.size(), k % 4);
    operands.push_back({pieces.back().data(), wire});
    values.push_back(value);
  }
  const Bytes expected = combined(DT_F32, DT_SUM, values);
  for (std::size_t target = 0; target <= n; ++target) {
    if (target < n && operands[target].wire != Wire::kExact) continue;
    Piece out(target < n ? values[target].data() : nullptr, expected.size(), 1);
    auto aimed = operands;
    if (target < n) aimed[target].data = out.data();
    combine_with(kernels, DT_F32, DT_SUM, out.data(), aimed.data(), n, count);
    ASSERT_TRUE(same(out.data(), expected, expected.size(), 4) && out.is_intact())
        << title(kernels, DT_F32, DT_SUM, n, count) << " into " << target;
  }
}

TEST(ReduceWires, SumsEveryMixtureOfFormats) {
  std::mt19937_64 random(3);
  for (const Kernels* kernels : all_kernels()) {
    int mixtures = 3;
    for (std::size_t n = 1; n <= 4; ++n, mixtures *= 3) {
      for (int formats = 0; formats < mixtures; ++formats) {
        for (const std::size_t count : {0, 1, 15, 33, 67}) {
          expect_mixture(*kernels, formats, n, count, random);
          if (HasFatalFailure()) return;
        }
      }
    }
    for (std::size_t n = 5; n <= 20; ++n) {
      expect_mixture(*kernels, static_cast<int>(random() >> 33), n, n < 8 ? 4097 : 100, random);
    }
  }
}

// Each input is rounded once to 8 bits, and so is the sum.
TEST(ReduceWires, SumOfBf16IsAsGoodAsPromised) {
  constexpr double u = 0x1p-8, u_float = 0x1p-24;
  constexpr std::size_t n = 8, kCount = 5000;
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> inputs(n, std::vector<float>(kCount));
  std::vector<Bytes> travel(n, Bytes(kCount * 2));
  std::vector<Operand> operands;
  for (std::size_t k = 0; k < n; ++k) {
    for (auto& value : inputs[k]) value = normal(random);
    to_wire(Wire::kBf16, travel[k].data(), inputs[k].data(), kCount);
    operands.push_back({travel[k].data(), Wire::kBf16});
  }
  std::vector<float> sum(kCount);
  auto* const out = reinterpret_cast<std::byte*>(sum.data());
  combine(DT_F32, DT_SUM, out, operands.data(), n, kCount);
  round_to_wire(Wire::kBf16, sum.data(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    double exact = 0, sizes = 0;
    for (const auto& input : inputs) exact += input[i], sizes += std::fabs(input[i]);
    const double bound = u * sizes + u * std::fabs(exact) + (u * u + n * u_float) * sizes;
    ASSERT_LE(std::fabs(sum[i] - exact), bound) << i;
  }
}

TEST(ReduceTable, OffersWhatTheHeaderSays) {
  // sum avg min max prod band bor bxor
  constexpr std::array<const char*, 9> kOffered = {"11111111", "11111111", "11111111",
                                                   "11111000", "11111000", "11111111",
                                                   "11111000", "11111000", "10111111"};
  for (int dtype = DT_U8; dtype <= DT_BOOL; ++dtype) {
    for (int op = DT_SUM; op <= DT_BXOR; ++op) {
      EXPECT_EQ(can_combine(dtype, op), kOffered[static_cast<std::size_t>(dtype)][op] == '1')
          << dtype_name(dtype) << " " << op_name(op);
    }
  }
  for (const int wrong : {-1, 9, 1 << 30}) {
    EXPECT_FALSE(can_combine(wrong, DT_SUM));
    EXPECT_FALSE(can_combine(DT_F32, wrong));
    EXPECT_EQ(element_bytes(wrong), 0u);
    EXPECT_EQ(op_name(wrong), nullptr);
  }
  EXPECT_FALSE(can_combine(DT_F32, 8));
}

TEST(ReduceTable, KnowsSizesAndNames) {
  constexpr std::array<std::size_t, 9> kSizes = {1, 4, 8, 4, 8, 1, 2, 2, 1};
  for (int dtype = DT_U8; dtype <= DT_BOOL; ++dtype) {
    EXPECT_EQ(element_bytes(dtype), kSizes[static_cast<std::size_t>(dtype)]);
    EXPECT_EQ(wire_bytes(dtype, Wire::kExact), element_bytes(dtype));
  }
  EXPECT_EQ(wire_bytes(DT_F32, Wire::kBf16), 2u);
  EXPECT_STREQ(dtype_name(DT_BF16), "bf16");
  EXPECT_STREQ(op_name(DT_BXOR), "bxor");
}

TEST(ReduceKernels, UnknownNameMeansTheBest) {
  const Kernels& best = *all_kernels().back();
  EXPECT_EQ(&kernels_or_best(nullptr), &best);
  EXPECT_EQ(&kernels_or_best("avx1024"), &best);
  EXPECT_STREQ(kernels_or_best("scalar").name, "scalar");
}

TEST(ReduceKernels, IgnoreTheFloatModeOfTheThread) {
  std::mt19937_64 random(5);
  std::vector<Bytes> values;
  for (int k = 0; k < 3; ++k) values.push_back(random_elements(DT_F32, 1000, random));
  const Bytes expected = combined(DT_F32, DT_SUM, values);
  const Bytes quotients = divided(DT_F32, expected, 3);
  for (const Kernels* kernels : all_kernels()) {
    Bytes sum(4000), quotient = expected;
    std::vector<Operand> operands;
    for (const auto& value : values) operands.push_back({value.data(), Wire::kExact});
    const FloatMode usual = float_mode();
    set_float_mode(kStrange);
    combine_with(*kernels, DT_F32, DT_SUM, sum.data(), operands.data(), 3, 1000);
    divide_with(*kernels, DT_F32, quotient.data(), 1000, 3);
    const FloatMode after = float_mode();
    set_float_mode(usual);
    EXPECT_EQ(after, kStrange);
    EXPECT_TRUE(sum == expected && quotient == quotients) << kernels->name;
  }
}

}  // namespace
}  // namespace dtl::ring::reduce_test
