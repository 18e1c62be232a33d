#pragma once
// TensorInput: a file of tensors opened for reading, piece by piece, so that a model need not be in
// memory twice. Every failure is an Error(kBadInput) that starts with the file's name.

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

  // True when the file has `count` bytes from `offset` on.
  bool holds(std::uint64_t offset, std::uint64_t count) const {
    return offset <= size_ && count <= size_ - offset;
  }
  std::string read(std::uint64_t offset, std::uint64_t count) const;
  // `count` elements of `type`, `element_bytes` each, from byte `offset` on, as floats.
  void read_floats(ElementType type, std::uint64_t element_bytes, std::uint64_t offset,
                   std::uint64_t count, float* floats) const;

 private:
  void read(std::uint64_t offset, std::uint64_t count, char* bytes) const;

  std::string path_;
  Fd file_;
  std::uint64_t size_ = 0;
};

}  // namespace dtl::trainer
