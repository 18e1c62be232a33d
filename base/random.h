#pragma once
// Random bytes from the kernel, by getrandom(2), for secrets, ids and names. Replaces
// std::random_device, which needs a symbol of glibc 2.36 and would exclude older hosts.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace dtl {

constexpr std::size_t kSecretBytes = 32;  // of a job: as long as the digests that use it as key

// Fills the whole span, even if signals interrupt. Returns 0, or the errno of getrandom(2).
int fill_random(std::span<std::byte> bytes);

// Throws Error naming the purpose ("draw a job id") if the kernel has none.
std::string random_bytes(std::size_t count, const std::string& purpose);

// A UniformRandomBitGenerator ([rand.req.urng]) for choices that need not be reproducible. Each
// number costs a system call.
class RandomNumbers {
 public:
  using result_type = std::uint32_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()();  // throws Error when the kernel has none
};

}  // namespace dtl
