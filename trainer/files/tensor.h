#pragma once
// Tensors as the readers of model files hand them out, and the types that files store them in.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major; other types are converted on reading
  // The name of the type, if it is not a kind of fraction: then there are no values.
  std::string whole_type = {};
};
using TensorMap = std::map<std::string, Tensor>;

enum class ElementType { kF32, kF16, kBF16, kF64, kWhole };  // kWhole: integers and truth values

// The number of elements of a shape; nothing where that, or a number in it, is out of range.
bool count_elements(const std::vector<std::int64_t>& shape, std::uint64_t& count);

// Little-endian elements to floats, rounded to nearest; not for kWhole. `floats` has room for
// bytes.size() / size of an element.
void convert_to_floats(ElementType type, std::string_view bytes, float* floats);

}  // namespace dtl::trainer
