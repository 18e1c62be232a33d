#include "ring/operation/scratch.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {

Scratch::Scratch(std::size_t bytes) : bytes_(bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    throw CommError(DT_E_NOMEM, fmt::format("cannot map {} bytes of scratch memory", bytes),
                    errno_text(errno));
  }
  data_ = static_cast<std::byte*>(memory);
}

Scratch::Scratch(Scratch&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Scratch::~Scratch() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace dtl::ring
