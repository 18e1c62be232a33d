#pragma once
// A slow and simple version of dtring.h's arithmetic, for comparison with ring/arithmetic/reduce.h.
// Compares bits, not values, so the inputs may be anything.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "ring/arithmetic/kernels.h"

namespace dtl::ring {

using Bytes = std::vector<std::byte>;

// The kernels that this machine can run.
std::vector<const Kernels*> all_kernels();

// The float with these bf16 or f16 bits, and the nearest bf16 or f16 of a float.
float widened(Wire wire, std::uint16_t half);
std::uint16_t narrowed(Wire wire, float value);

// count elements with all kinds of values: zeros, NaNs, infinities, denormals, limits.
Bytes random_elements(int dtype, std::size_t count, std::mt19937_64& random);
std::vector<float> random_floats(std::size_t count, std::mt19937_64& random);

// Expected results of combine and divide.
Bytes combined(int dtype, int op, const std::vector<Bytes>& operands);
Bytes divided(int dtype, const Bytes& data, std::uint64_t divisor);

}  // namespace dtl::ring
