#pragma once
// The arithmetic of dtring.h once more, slow and obvious, to compare ring/arithmetic/reduce.h with.
// Bits, not values, are compared, so the inputs may hold anything.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "ring/arithmetic/kernels.h"

namespace dtl::ring {

using Bytes = std::vector<std::byte>;

// Those that this machine can run.
std::vector<const Kernels*> all_kernels();

// The float whose bits are these bf16 or f16 ones, and the nearest bf16 or f16 of a float.
float widened(Wire wire, std::uint16_t half);
std::uint16_t narrowed(Wire wire, float value);

// count elements with every kind of value there is: zeros, NaNs, infinities, denormals, limits.
Bytes random_elements(int dtype, std::size_t count, std::mt19937_64& random);
std::vector<float> random_floats(std::size_t count, std::mt19937_64& random);

// What combine and divide shall give.
Bytes combined(int dtype, int op, const std::vector<Bytes>& operands);
Bytes divided(int dtype, const Bytes& data, std::uint64_t divisor);

}  // namespace dtl::ring
