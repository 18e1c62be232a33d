#pragma once
// The primitives of the handshake: HMAC-SHA256, HKDF-SHA256 (RFC 5869), random bytes and a
// constant-time comparison, using libcrypto. No other file of ring/ calls libcrypto. Thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dtl::ring {

using Bytes = std::span<const std::uint8_t>;
using Digest = std::array<std::uint8_t, 32>;

// 32 secret bytes, wiped on destruction.
class Key {
 public:
  Key() = default;
  explicit Key(const Digest& bytes) : bytes_(bytes) {}
  // Copies only: each wipes its bytes, while a move would leave them behind.
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key() { wipe(bytes_.data(), bytes_.size()); }

  Bytes bytes() const { return bytes_; }
  // For secrets that are not in a Key, such as bytes passed in by a caller.
  static void wipe(void* data, std::size_t bytes);

 private:
  Digest bytes_{};
};

// All throw CommError(DT_E_SYS) if the library or the kernel fails.
Digest hmac_sha256(Bytes key, Bytes message);
Digest sha256(std::string_view text);
Key hkdf_sha256(Bytes secret, Bytes salt, Bytes info);  // one block: 32 bytes
void fill_random(std::span<std::uint8_t> bytes);

// For proofs. The time of a comparison that stops at the first difference would reveal how many
// bytes were right.
bool equal_in_constant_time(Bytes left, Bytes right);

}  // namespace dtl::ring
