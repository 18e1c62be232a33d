#pragma once
// TensorInput: an open file of tensors that is read in pieces, so that a model is not in memory
// twice. Every failure is an Error(kBadInput) that starts with the file's name.

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "trainer/files/tensor.h"

namespace dtl::trainer {

class TensorInput {
 public:
  explicit TensorInput(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  [[noreturn]] void fail(const std::string& reason) const;

  // True if the file has `count` bytes at `offset`.
  bool holds(std::uint64_t offset, std::uint64_t count) const {
    return offset <= size_ && count <= size_ - offset;
  }
  std::string read(std::uint64_t offset, std::uint64_t count) const;
  // Reads `count` elements of `type`, `element_bytes` each, from byte `offset`, as floats.
  void read_floats(ElementType type, std::uint64_t element_bytes, std::uint64_t offset,
                   std::uint64_t count, float* floats) const;

 private:
  void read(std::uint64_t offset, std::uint64_t count, char* bytes) const;

  std::string path_;
  Fd file_;
  std::uint64_t size_ = 0;
};

}  // namespace dtl::trainer
