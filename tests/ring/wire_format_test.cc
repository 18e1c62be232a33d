#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "ring/arithmetic/reduce.h"
#include "tests/ring/reduce_support.h"

namespace dtl::ring::wire_format_test {
namespace {

using Halves = std::vector<std::uint16_t>;

class WireFormat : public ::testing::TestWithParam<Wire> {};

Halves to_halves(const Kernels& kernels, Wire wire, const std::vector<float>& floats) {
  Halves halves(floats.size());
  to_wire_with(kernels, wire, reinterpret_cast<std::byte*>(halves.data()), floats.data(),
               floats.size());
  return halves;
}

std::vector<float> to_floats(const Kernels& kernels, Wire wire, const Halves& halves) {
  std::vector<float> floats(halves.size());
  from_wire_with(kernels, wire, floats.data(), reinterpret_cast<const std::byte*>(halves.data()),
                 halves.size());
  return floats;
}

Halves every_half() {
  Halves halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  return halves;
}

// to_wire, from_wire and round_to_wire of these floats, by all kernels, match the reference.
void expect_reference(Wire wire, const std::vector<float>& floats) {
  Halves expected;
  for (const float value : floats) expected.push_back(narrowed(wire, value));
  for (const Kernels* kernels : all_kernels()) {
    const Halves halves = to_halves(*kernels, wire, floats);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(halves[i], expected[i])
          << kernels->name << " " << std::hexfloat << floats[i] << " at " << i;
    }
    auto rounded = floats;
    round_to_wire_with(*kernels, wire, rounded.data(), rounded.size());
    const auto back = to_floats(*kernels, wire, halves);
    ASSERT_EQ(std::memcmp(rounded.data(), back.data(), floats.size() * sizeof(float)), 0)
        << kernels->name;
  }
}

TEST_P(WireFormat, WidensEveryValue) {
  const Halves halves = every_half();
  for (const Kernels* kernels : all_kernels()) {
    const auto floats = to_floats(*kernels, GetParam(), halves);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]),
                std::bit_cast<std::uint32_t>(widened(GetParam(), halves[i])))
          << kernels->name << " " << i;
    }
  }
}

TEST_P(WireFormat, EveryValueSurvivesTheRoundTrip) {
  const Halves halves = every_half();
  for (const Kernels* kernels : all_kernels()) {
    const auto floats = to_floats(*kernels, GetParam(), halves);
    const Halves back = to_halves(*kernels, GetParam(), floats);
    const int quiet = GetParam() == Wire::kBf16 ? 0x40 : 0x200;
    for (std::size_t i = 0; i < halves.size(); ++i) {
      ASSERT_EQ(back[i], std::isnan(floats[i]) ? halves[i] | quiet : halves[i]) << kernels->name;
    }
  }
}

// A tie rounds to even; the smallest difference decides otherwise.
TEST_P(WireFormat, RoundsToTheNearestNeighbour) {
  const Wire wire = GetParam();
  const int infinity = wire == Wire::kBf16 ? 0x7f80 : 0x7c00;
  std::vector<float> floats;
  Halves expected;
  for (int i = 0; i < infinity; ++i) {
    const int low = i, high = i + 1;
    const double beyond = wire == Wire::kBf16 ? 0x1p128 : 0x1p16;
    const double upper =
        high == infinity ? beyond : widened(wire, static_cast<std::uint16_t>(high));
    const auto middle =
        static_cast<float>((widened(wire, static_cast<std::uint16_t>(low)) + upper) / 2);
    for (const float sign : {1.0f, -1.0f}) {
      const int sign_bit = sign < 0 ? 0x8000 : 0;
      floats.insert(floats.end(), {sign * std::nextafter(middle, 0.0f), sign * middle,
                                   sign * std::nextafter(middle, HUGE_VALF)});
      for (const int half : {low, low % 2 == 0 ? low : high, high}) {
        expected.push_back(static_cast<std::uint16_t>(half | sign_bit));
      }
    }
  }
  for (const Kernels* kernels : all_kernels()) {
    EXPECT_EQ(to_halves(*kernels, wire, floats), expected) << kernels->name;
  }
  expect_reference(wire, floats);
}

TEST_P(WireFormat, NarrowsAsTheReferenceDoes) {
  std::vector<float> floats;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 16411) {  // a prime
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  std::mt19937_64 random(1);
  const auto others = random_floats(50000, random);
  floats.insert(floats.end(), others.begin(), others.end());
  expect_reference(GetParam(), floats);
}

TEST_P(WireFormat, KeepsWhatIsSpecial) {
  using Limits = std::numeric_limits<float>;
  const Wire wire = GetParam();
  const bool is_bf16 = wire == Wire::kBf16;
  const float largest = is_bf16 ? 0x1.fep127f : 65504.0f, least = is_bf16 ? 0x1p-133f : 0x1p-24f;
  std::vector<float> values = {0.0f, -0.0f, Limits::infinity(), -largest, largest, least, -least};
  const auto before = values;
  round_to_wire(wire, values.data(), values.size());
  EXPECT_EQ(std::memcmp(values.data(), before.data(), values.size() * sizeof(float)), 0);
  values = {Limits::quiet_NaN(), Limits::signaling_NaN(), std::bit_cast<float>(0x7f800001u),
            std::bit_cast<float>(0xffffffffu)};
  round_to_wire(wire, values.data(), values.size());
  for (const float value : values) EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(std::signbit(values[3]));
  float huge = is_bf16 ? Limits::max() : 65520.0f;
  round_to_wire(wire, &huge, 1);
  EXPECT_EQ(huge, Limits::infinity());
}

TEST_P(WireFormat, TakesAnyAddressAndCount) {
  std::mt19937_64 random(2);
  for (const Kernels* kernels : all_kernels()) {
    for (std::size_t count = 0; count < 70; ++count) {
      const auto floats = random_floats(count, random);
      Bytes halves(2 * count + 3, std::byte{0x5a});
      to_wire_with(*kernels, GetParam(), halves.data() + 1, floats.data(), count);
      std::vector<float> back(count + 1, 7.0f);
      from_wire_with(*kernels, GetParam(), back.data(), halves.data() + 1, count);
      auto expected = floats;
      round_to_wire_with(*kernels, GetParam(), expected.data(), count);
      EXPECT_TRUE(count == 0 ||
                  std::memcmp(back.data(), expected.data(), count * sizeof(float)) == 0);
      EXPECT_EQ(back[count], 7.0f);
      EXPECT_EQ(halves[0], std::byte{0x5a});
      EXPECT_EQ(halves[2 * count + 1], std::byte{0x5a});
    }
  }
}

TEST_P(WireFormat, DenormalsSurviveFlushToZero) {
  const Halves halves = every_half();
  for (const Kernels* kernels : all_kernels()) {
    const auto floats = to_floats(*kernels, GetParam(), halves);
    const Halves expected = to_halves(*kernels, GetParam(), floats);
    const FloatMode usual = float_mode();
    set_float_mode(kFlushing);
    const auto flushed = to_floats(*kernels, GetParam(), halves);
    const Halves back = to_halves(*kernels, GetParam(), floats);
    set_float_mode(usual);
    EXPECT_EQ(std::memcmp(flushed.data(), floats.data(), floats.size() * sizeof(float)), 0);
    EXPECT_EQ(back, expected) << kernels->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, WireFormat, ::testing::Values(Wire::kBf16, Wire::kF16),
                         [](const auto& test) {
                           return test.param == Wire::kBf16 ? "bf16" : "f16";
                         });

}  // namespace
}  // namespace dtl::ring::wire_format_test
