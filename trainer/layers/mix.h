#pragma once
// 64 well-mixed bits from a counter: splitmix64's finaliser. Pure.

#include <cstdint>

namespace dtl::trainer {

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace dtl::trainer
