#pragma once
// Scratch: page-aligned memory that is touched as it is mapped, so that operations, which use it
// again and again, pay for no page faults. Move only. Freed by its owner alone, and never while an
// operation uses it.

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
