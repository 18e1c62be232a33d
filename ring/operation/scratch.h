#pragma once
// Scratch: page-aligned memory, touched when it is mapped, so that operations, which reuse it, have
// no page faults. Move only. Only its owner frees it, and never while an operation uses it.

#include <cstddef>

namespace dtl::ring {

class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::size_t bytes);  // throws CommError(DT_E_NOMEM)
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace dtl::ring
