#pragma once
// The safetensors file format: named tensors, validated on reading (offsets, sizes, no holes),
// written atomically as Hugging Face's readers accept it (metadata {"format":"pt"}).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtl::trainer {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major; F16, BF16 and F64 are converted on reading
};
using TensorMap = std::map<std::string, Tensor>;

// Integer tensors (old position_ids buffers) are left out. Follows model.safetensors.index.json
// when `path` is such a file. Throws Error(kBadInput) naming file and tensor.
TensorMap read_safetensors(const std::string& path);
void write_safetensors(const std::string& path, const TensorMap& tensors);

}  // namespace dtl::trainer
