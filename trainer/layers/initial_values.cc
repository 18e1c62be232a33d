// Numbers of new tensors, from a counter.
#include <cmath>
#include <numbers>

#include "trainer/layers/mix.h"
#include "trainer/layers/parameters.h"

namespace dtl::trainer {
namespace {

// 64-bit FNV-1a: the offset basis and prime are the algorithm's.
std::uint64_t fnv(const void* bytes, std::size_t count) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto* at = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ at[i]) * 0x100000001B3;
  return hash;
}

// A standard normal number of a counter, by Box and Muller. Uses one number of each pair, so that
// each number depends only on its own counter.
double normal_number(std::uint64_t counter) {
  const std::uint64_t bits = mix(counter);
  // + 0.5 keeps the logarithm finite: radius_u is never 0.
  const double radius_u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
  const double angle_u = static_cast<double>(bits & 0xFFFFFFFF) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(radius_u)) * std::cos(2.0 * std::numbers::pi * angle_u);
}

// The first of the counter's numbers that is not beyond the cutoff: as torch's trunc_normal_.
double cut_normal(std::uint64_t counter, double cutoff) {
  double number = normal_number(counter);
  while (cutoff > 0 && std::abs(number) > cutoff) {
    counter = mix(counter + 1);
    number = normal_number(counter);
  }
  return number;
}

}  // namespace

void initialise(const ParameterInfo& tensor, double range, std::uint64_t seed, float* parameters) {
  float* values = parameters + tensor.offset;
  // Use the name, not the offset: adding or removing tensors must not change other tensors.
  const std::uint64_t key = mix(seed ^ fnv(tensor.name.data(), tensor.name.size()));
  for (std::int64_t i = 0; i < tensor.count; ++i) {
    switch (tensor.initial) {
      case InitialValue::kZero:
        values[i] = 0;
        break;
      case InitialValue::kOne:
        values[i] = 1;
        break;
      case InitialValue::kNormal: {
        const double deviation = tensor.normal.deviation > 0 ? tensor.normal.deviation : range;
        values[i] = static_cast<float>(
            deviation * cut_normal(key + static_cast<std::uint64_t>(i), tensor.normal.cutoff));
        break;
      }
    }
  }
}

}  // namespace dtl::trainer
