#pragma once
// HMAC-SHA1 (RFC 2104) under one key for many messages, and base64: what known_hosts hashes its
// names with. Not for new designs.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dtl {

class HmacSha1 {
 public:
  using Digest = std::array<std::uint8_t, 20>;

  // key: at most 64 bytes. Both blocks that depend on the key alone are hashed here.
  explicit HmacSha1(std::string_view key);
  HmacSha1(HmacSha1&&) noexcept;
  ~HmacSha1();

  Digest of(std::string_view message) const;  // 0.2 us for a hostname

 private:
  struct Blocks;
  std::unique_ptr<Blocks> blocks_;
};

// nullopt: the text is not base64 (RFC 4648) with its padding.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace dtl
