// OpenSSL's plain functions, deprecated in favour of EVP. For this one digest, EVP would add all of
// libcrypto to the static dtagent.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/text.h"

namespace dtl {

Sha256::Sha256() : state_(std::make_unique<SHA256_CTX>()) {
  SHA256_Init(state_.get());
}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  SHA256_Update(state_.get(), bytes.data(), bytes.size());
}

Sha256::Digest Sha256::digest() {
  Digest digest;
  SHA256_Final(digest.data(), state_.get());
  return digest;
}

std::string Sha256::hex() {
  const Digest bytes = digest();
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

std::string hmac_sha256(std::string_view key, std::string_view message) {
  const auto digest_of = [](std::string_view first, std::string_view second) {
    Sha256 sum;
    sum.add(first);
    sum.add(second);
    const Sha256::Digest bytes = sum.digest();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  std::string block(key.size() > SHA256_CBLOCK ? digest_of(key, {}) : std::string(key));
  block.resize(SHA256_CBLOCK, '\0');
  const auto keyed = [&block](char pad) {
    std::string padded = block;
    for (char& byte : padded) byte = static_cast<char>(byte ^ pad);
    return padded;
  };
  return digest_of(keyed(0x5c), digest_of(keyed(0x36), message));
}

// OpenSSL_version() also needs all of libcrypto, so it is only called where that exists anyway: in
// the shared library, and beside libssh. Otherwise the archive's version is that of its headers.
#pragma weak OpenSSL_version

Library crypto_library() {
  const bool can_tell = &::OpenSSL_version != nullptr;
  return {"OpenSSL",
          can_tell ? ::OpenSSL_version(OPENSSL_VERSION_STRING) : OPENSSL_FULL_VERSION_STR,
          address_of(&::SHA256_Init)};
}

}  // namespace dtl
