#pragma once
// NumPy's file format for arrays of floats (version 1.0), as numpy.load() reads it. Pure.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl::trainer {

// All that comes before the values, which follow as little-endian float32 in row-major order.
std::string npy_header(const std::vector<std::int64_t>& shape);

std::string npy_bytes(const std::vector<std::int64_t>& shape, const std::vector<float>& values);

}  // namespace dtl::trainer
