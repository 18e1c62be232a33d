#pragma once
// SHA-256 of bytes that arrive in pieces: for the files of --push, and keys from tokens; and
// HMAC-SHA256. Programs only: libdtring has its own crypto (ring/common/crypto.h).

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/library.h"

// Declared here, so that OpenSSL's headers stay in sha256.cc.
struct SHA256state_st;

namespace dtl {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  using Digest = std::array<std::uint8_t, 32>;
  Digest digest();    // once, at the end
  std::string hex();  // the same in lower-case hexadecimal

 private:
  std::unique_ptr<SHA256state_st> state_;
};

std::string sha256_hex(std::string_view bytes);

// RFC 2104, 32 bytes: a key that only who knows `key` can make from the message.
std::string hmac_sha256(std::string_view key, std::string_view message);

Library crypto_library();  // OpenSSL's libcrypto, for --version -v

}  // namespace dtl
