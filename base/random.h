#pragma once
// Random bytes from the kernel: getrandom(2), for secrets, ids and names. It also replaces
// std::random_device, which would ask for a symbol of glibc 2.36 and keep the programs from older
// hosts.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace dtl {

constexpr std::size_t kSecretBytes = 32;  // of a job: as long as the digests that it keys

// Fills all of it, however often a signal interrupts. 0, or the errno of getrandom(2).
int fill_random(std::span<std::byte> bytes);

// Throws Error naming what they were for ("draw a job id") when the kernel has none.
std::string random_bytes(std::size_t count, const std::string& purpose);

// A UniformRandomBitGenerator ([rand.req.urng]) for choices that need no repeating. Each number is
// a system call.
class RandomNumbers {
 public:
  using result_type = std::uint32_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()();  // throws Error when the kernel has none
};

}  // namespace dtl
