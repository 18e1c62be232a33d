#pragma once
// The safetensors file format: named tensors. Reading validates offsets and sizes and refuses gaps.
// Writing is atomic, and Hugging Face's readers accept the files (metadata {"format":"pt"}).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/files/tensor.h"
#include "trainer/files/tensor_input.h"

namespace dtl::trainer {

// A file with a validated header. Throws Error(kBadInput) naming file and tensor.
class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    ElementType type = ElementType::kF32;
    std::uint64_t element_bytes = 4;
    std::string type_name = "F32";  // as in the file
    std::vector<std::int64_t> shape = {};
    std::uint64_t begin = 0, end = 0;  // bytes of the file
    std::uint64_t count() const { return (end - begin) / element_bytes; }
  };

  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return input_.path(); }
  const std::vector<Entry>& entries() const { return entries_; }  // in file order
  // Null if no tensor has this name.
  const Entry* find(const std::string& name) const;
  // `values` has room for entry.count() floats; not for kWhole.
  void read(const Entry& entry, float* values) const;

 private:
  TensorInput input_;
  std::vector<Entry> entries_;
};

// Reads all tensors of a file. Tensors of integers (old position_ids buffers) come without values.
TensorMap read_safetensors(const std::string& path);

// A tensor whose values the caller owns.
struct TensorView {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

// Throws Error(kCannotWrite) naming the file.
void write_safetensors(const std::string& path, std::span<const TensorView> tensors);
void write_safetensors(const std::string& path, const TensorMap& tensors);

}  // namespace dtl::trainer
