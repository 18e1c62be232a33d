#pragma once
// The sums of allreduce, one element type each, for the CPU at hand. Pure; no allocation.

#include <cstddef>
#include <cstdint>

namespace dtl::ring {

// 0 for a type that does not exist.
std::size_t element_bytes(int dtype);
const char* dtype_name(int dtype);

// out[i] = left[i] + right[i] for `count` elements. out may be left, and overlaps nothing else.
// Integers wrap around.
void add(int dtype, std::byte* out, const std::byte* left, const std::byte* right,
         std::size_t count);

}  // namespace dtl::ring
