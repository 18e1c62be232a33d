#pragma once
// Tensors as the model file readers return them, and the element types in files.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major; other types become floats on reading
  // For integer and boolean types: the type's name. Then there are no values.
  std::string whole_type = {};
};
using TensorMap = std::map<std::string, Tensor>;

enum class ElementType { kF32, kF16, kBF16, kF64, kWhole };  // kWhole: integers and booleans

// The number of elements of a shape; nothing if it, or an extent, is out of range.
bool count_elements(const std::vector<std::int64_t>& shape, std::uint64_t& count);

// Converts little-endian elements to floats, rounding to nearest. Not for kWhole. `floats` has room
// for bytes.size() / element size.
void convert_to_floats(ElementType type, std::string_view bytes, float* floats);

}  // namespace dtl::trainer
