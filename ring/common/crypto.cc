// Uses libcrypto's one-shot calls, which need no contexts. HKDF is two HMACs here: no caller needs
// more than one block.
#include "ring/common/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "ring/common/comm_error.h"

namespace dtl::ring {

namespace {

// Without this libcrypto frees its global state in an atexit handler. A program may exit without
// destroying its communicator, while the communication thread still runs. A static runs the call
// once, before the first use on any thread.
void set_library_up() {
  [[maybe_unused]] static const int begun = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

}  // namespace

void Key::wipe(void* data, std::size_t bytes) {
  // A compiler may omit a memset of memory that is not read again, but not this call.
  OPENSSL_cleanse(data, bytes);
}

Digest hmac_sha256(Bytes key, Bytes message) {
  set_library_up();
  Digest digest;
  unsigned int length = 0;
  const auto* result = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(),
                            message.size(), digest.data(), &length);
  if (result == nullptr || length != digest.size()) {
    throw CommError(DT_E_SYS, "cannot compute HMAC-SHA256", "libcrypto refuses");
  }
  return digest;
}

Digest sha256(std::string_view text) {
  set_library_up();
  Digest digest;
  unsigned int length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw CommError(DT_E_SYS, "cannot compute SHA-256", "libcrypto refuses");
  }
  return digest;
}

Key hkdf_sha256(Bytes secret, Bytes salt, Bytes info) {
  // RFC 5869: without a salt it is a hash length of zeros.
  const Digest no_salt{};
  const Key extracted(hmac_sha256(salt.empty() ? Bytes(no_salt) : salt, secret));
  std::vector<std::uint8_t> block(info.begin(), info.end());
  block.push_back(1);  // the number of the first and only block
  return Key(hmac_sha256(extracted.bytes(), block));
}

void fill_random(std::span<std::uint8_t> bytes) {
  if (const int failure = dtl::fill_random(std::as_writable_bytes(bytes))) {
    throw CommError(DT_E_SYS, "cannot get random bytes", errno_text(failure));
  }
}

bool equal_in_constant_time(Bytes left, Bytes right) {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace dtl::ring
