// Only getrandom(2): no seed, and no generator state that a fork would copy.
#include "base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/error.h"

namespace dtl {

int fill_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    // Without flags it only waits early in a boot, until the kernel's pool is seeded.
    const ssize_t n = ::getrandom(bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string random_bytes(std::size_t count, const std::string& purpose) {
  std::string bytes(count, '\0');
  if (const int failure = fill_random(std::as_writable_bytes(std::span(bytes)))) {
    throw Error(Exit::kOs, "cannot " + purpose, errno_text(failure));
  }
  return bytes;
}

RandomNumbers::result_type RandomNumbers::operator()() {
  result_type number = 0;
  if (const int failure = fill_random(std::as_writable_bytes(std::span(&number, 1)))) {
    throw Error(Exit::kOs, "cannot draw a random number", errno_text(failure));
  }
  return number;
}

}  // namespace dtl
