// Converts other number formats to floats. Does not read files.
#include "trainer/files/tensor.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace dtl::trainer {
namespace {

static_assert(std::endian::native == std::endian::little, "files of tensors are little-endian");

// Moves the fraction and the exponent to their places in a float and changes the bias. Subnormal
// halves are multiples of 2^-24, so no float here is subnormal. (The CPU may be set to flush those
// to 0.)
float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = half & 0x7C00, fraction = half & 0x3FF;
  std::uint32_t magnitude = 0;
  if (exponent == 0x7C00) {  // infinity or NaN
    magnitude = 0x7F800000 | fraction << 13;
  } else if (exponent == 0) {
    magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
  } else {
    // 112 = 127 - 15, the difference of the biases.
    magnitude = ((exponent | fraction) << 13) + (112U << 23);
  }
  return std::bit_cast<float>(sign | magnitude);
}

float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

template <typename Stored, typename Convert>
void convert(std::string_view bytes, float* floats, Convert one) {
  for (std::size_t at = 0; at + sizeof(Stored) <= bytes.size(); at += sizeof(Stored)) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + at, sizeof(Stored));
    *floats++ = one(stored);
  }
}

}  // namespace

bool count_elements(const std::vector<std::int64_t>& shape, std::uint64_t& count) {
  count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count)) {
      return false;
    }
  }
  return true;
}

void convert_to_floats(ElementType type, std::string_view bytes, float* floats) {
  switch (type) {
    case ElementType::kF32:
      if (!bytes.empty()) std::memcpy(floats, bytes.data(), bytes.size());
      return;
    case ElementType::kF16:
      return convert<std::uint16_t>(bytes, floats, from_half);
    case ElementType::kBF16:
      return convert<std::uint16_t>(bytes, floats, from_bfloat);
    case ElementType::kF64:
      return convert<double>(bytes, floats, [](double value) { return static_cast<float>(value); });
    case ElementType::kWhole:
      break;
  }
  assert(false);
}

}  // namespace dtl::trainer
