#include "tests/ring/reduce_support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace dtl::ring {
namespace {

struct Layout {
  int fraction_bits, least_exponent, largest_exponent;
};

Layout layout_of(Wire wire) {
  return wire == Wire::kBf16 ? Layout{7, -126, 127} : Layout{10, -14, 15};
}

template <class T>
std::vector<T> elements_of(const Bytes& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

template <class T>
Bytes bytes_of(const std::vector<T>& elements) {
  Bytes bytes(elements.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

template <class T>
T integer_result(int op, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (op) {
    case DT_MIN:
      return std::min(a, b);
    case DT_MAX:
      return std::max(a, b);
    case DT_PROD:
      return static_cast<T>(x * y);
    case DT_BAND:
      return static_cast<T>(x & y);
    case DT_BOR:
      return static_cast<T>(x | y);
    case DT_BXOR:
      return static_cast<T>(x ^ y);
    default:
      return static_cast<T>(x + y);
  }
}

bool bool_result(int op, bool a, bool b) {
  if (op == DT_SUM || op == DT_MAX || op == DT_BOR) return a || b;
  return op == DT_BXOR ? a != b : a && b;
}

template <class T>
T float_result(int op, T a, T b) {
  T result = op == DT_PROD ? a * b : a + b;
  if (op == DT_MIN || op == DT_MAX) {
    const bool a_is_less = a < b || (a == b && std::signbit(a));
    result = a_is_less == (op == DT_MIN) ? a : b;
  }
  if (std::isnan(a) || std::isnan(b) || std::isnan(result)) {
    result = std::numeric_limits<T>::quiet_NaN();
  }
  return result;
}

template <class T, class Function>
Bytes folded(const std::vector<Bytes>& operands, const Function& function) {
  auto result = elements_of<T>(operands[0]);
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const auto other = elements_of<T>(operands[k]);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = function(result[i], other[i]);
  }
  return bytes_of(result);
}

template <class T>
Bytes folded_integers(int op, const std::vector<Bytes>& operands) {
  return folded<T>(operands, [op](T a, T b) { return integer_result(op, a, b); });
}

template <class T>
Bytes folded_floats(int op, const std::vector<Bytes>& operands) {
  return folded<T>(operands, [op](T a, T b) { return float_result(op, a, b); });
}

Bytes folded_halves(Wire wire, int op, const std::vector<Bytes>& operands) {
  if (operands.size() == 1) return operands[0];
  std::vector<Bytes> wide;
  for (const auto& operand : operands) {
    std::vector<float> floats;
    for (const auto half : elements_of<std::uint16_t>(operand)) {
      floats.push_back(widened(wire, half));
    }
    wide.push_back(bytes_of(floats));
  }
  std::vector<std::uint16_t> result;
  for (const float value : elements_of<float>(folded_floats<float>(op, wide))) {
    result.push_back(narrowed(wire, value));
  }
  return bytes_of(result);
}

Bytes folded_bools(int op, const std::vector<Bytes>& operands) {
  Bytes result(operands[0].size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    bool value = operands[0][i] != std::byte{0};
    for (std::size_t k = 1; k < operands.size(); ++k) {
      value = bool_result(op, value, operands[k][i] != std::byte{0});
    }
    result[i] = value ? std::byte{1} : std::byte{0};
  }
  return result;
}

__extension__ typedef __int128 Wide;

template <class T>
Bytes divided_integers(const Bytes& data, std::uint64_t divisor) {
  auto values = elements_of<T>(data);
  for (auto& value : values) {
    value = static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(divisor));
  }
  return bytes_of(values);
}

template <class T>
Bytes divided_floats(const Bytes& data, std::uint64_t divisor) {
  auto values = elements_of<T>(data);
  for (auto& value : values) value /= static_cast<T>(divisor);
  return bytes_of(values);
}

Bytes divided_halves(Wire wire, const Bytes& data, std::uint64_t divisor) {
  auto values = elements_of<std::uint16_t>(data);
  for (auto& value : values) {
    value = narrowed(wire, widened(wire, value) / static_cast<float>(divisor));
  }
  return bytes_of(values);
}

// A random float: total bits and fraction bits.
std::uint64_t random_float_bits(int bits, int fraction_bits, std::mt19937_64& random) {
  const std::uint64_t sign = random() << (bits - 1);
  const std::uint64_t fraction = random() & ((std::uint64_t{1} << fraction_bits) - 1);
  const std::uint64_t largest = (std::uint64_t{1} << (bits - 1 - fraction_bits)) - 1;
  std::uint64_t exponent = largest / 2 + random() % 9 - 4;
  switch (random() % 32) {
    case 0:
      return sign;
    case 1:
      return sign | largest << fraction_bits;
    case 2:
      exponent = largest;
      break;
    case 3:
    case 4:
      exponent = 0;
      break;
    case 5:
    case 6:
      exponent = random() & largest;
      break;
    case 7:
      exponent = largest - 1;
      break;
    default:
      break;
  }
  return sign | exponent << fraction_bits | fraction;
}

std::uint64_t random_bits(int dtype, std::mt19937_64& random) {
  switch (dtype) {
    case DT_F16:
      return random_float_bits(16, 10, random);
    case DT_BF16:
      return random_float_bits(16, 7, random);
    case DT_F32:
      return random_float_bits(32, 23, random);
    case DT_F64:
      return random_float_bits(64, 52, random);
    case DT_BOOL:
      return random() % 2 == 0 ? 0 : random();
    default:
      return random() >> (random() % 4 * 8);
  }
}

}  // namespace

std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> all;
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    if (const Kernels* kernels = kernels_named(name)) all.push_back(kernels);
  }
  return all;
}

float widened(Wire wire, std::uint16_t half) {
  const auto [fraction_bits, least_exponent, largest_exponent] = layout_of(wire);
  const int fraction = half & ((1 << fraction_bits) - 1);
  const int exponent = (half & 0x7fff) >> fraction_bits;
  const bool is_negative = half >= 0x8000;
  if (exponent > largest_exponent - least_exponent + 1) {
    // NaNs keep their fraction; those of f16 become quiet.
    const int quiet = fraction != 0 && wire == Wire::kF16 ? 0x400000 : 0;
    return std::bit_cast<float>((is_negative ? 0xff800000u : 0x7f800000u) |
                                static_cast<std::uint32_t>(fraction << (23 - fraction_bits)) |
                                static_cast<std::uint32_t>(quiet));
  }
  const int significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  const double value =
      std::ldexp(significand, std::max(exponent, 1) - 1 + least_exponent - fraction_bits);
  return static_cast<float>(is_negative ? -value : value);
}

std::uint16_t narrowed(Wire wire, float value) {
  const auto [fraction_bits, least_exponent, largest_exponent] = layout_of(wire);
  const int infinity = (largest_exponent - least_exponent + 2) << fraction_bits;
  int bits = 0;
  if (std::isnan(value)) {
    const int fraction = static_cast<int>(std::bit_cast<std::uint32_t>(value) & 0x7fffff);
    bits = infinity | fraction >> (23 - fraction_bits) | 1 << (fraction_bits - 1);
  } else if (std::isinf(value)) {
    bits = infinity;
  } else if (value != 0) {
    const double size = std::fabs(static_cast<double>(value));
    const int exponent = std::max(std::ilogb(size), least_exponent);
    const double steps = std::nearbyint(std::ldexp(size, fraction_bits - exponent));
    bits = ((exponent - least_exponent) << fraction_bits) + static_cast<int>(steps);
    bits = std::min(bits, infinity);
  }
  return static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 | bits : bits);
}

Bytes random_elements(int dtype, std::size_t count, std::mt19937_64& random) {
  const std::size_t bytes = element_bytes(dtype);
  Bytes elements(count * bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = random_bits(dtype, random);
    std::memcpy(elements.data() + i * bytes, &bits, bytes);
  }
  return elements;
}

std::vector<float> random_floats(std::size_t count, std::mt19937_64& random) {
  return elements_of<float>(random_elements(DT_F32, count, random));
}

Bytes combined(int dtype, int op, const std::vector<Bytes>& operands) {
  switch (dtype) {
    case DT_U8:
      return folded_integers<std::uint8_t>(op, operands);
    case DT_I8:
      return folded_integers<std::int8_t>(op, operands);
    case DT_I32:
      return folded_integers<std::int32_t>(op, operands);
    case DT_I64:
      return folded_integers<std::int64_t>(op, operands);
    case DT_F32:
      return folded_floats<float>(op, operands);
    case DT_F64:
      return folded_floats<double>(op, operands);
    case DT_F16:
      return folded_halves(Wire::kF16, op, operands);
    case DT_BF16:
      return folded_halves(Wire::kBf16, op, operands);
    default:
      return folded_bools(op, operands);
  }
}

Bytes divided(int dtype, const Bytes& data, std::uint64_t divisor) {
  switch (dtype) {
    case DT_U8:
      return divided_integers<std::uint8_t>(data, divisor);
    case DT_I8:
      return divided_integers<std::int8_t>(data, divisor);
    case DT_I32:
      return divided_integers<std::int32_t>(data, divisor);
    case DT_I64:
      return divided_integers<std::int64_t>(data, divisor);
    case DT_F32:
      return divided_floats<float>(data, divisor);
    case DT_F64:
      return divided_floats<double>(data, divisor);
    default:
      return divided_halves(dtype == DT_F16 ? Wire::kF16 : Wire::kBf16, data, divisor);
  }
}

}  // namespace dtl::ring
