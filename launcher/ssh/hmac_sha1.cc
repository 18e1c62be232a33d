// The plain functions of OpenSSL, deprecated in favour of EVP: copying an EVP context costs ten
// times what the two blocks of a hostname do.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "launcher/ssh/hmac_sha1.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <cassert>

namespace dtl {
namespace {

constexpr std::size_t kBlockBytes = SHA_CBLOCK;

// The state after one block: the key, padded with zeros, each byte xored with `pad`.
SHA_CTX keyed(std::string_view key, std::uint8_t pad) {
  std::array<std::uint8_t, kBlockBytes> block;
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    const auto byte = i < key.size() ? static_cast<std::uint8_t>(key[i]) : std::uint8_t{0};
    block[i] = static_cast<std::uint8_t>(byte ^ pad);
  }
  SHA_CTX state;
  SHA1_Init(&state);
  SHA1_Update(&state, block.data(), block.size());
  return state;
}

}  // namespace

struct HmacSha1::Blocks {
  SHA_CTX inner, outer;
};

HmacSha1::HmacSha1(std::string_view key)
    : blocks_(std::make_unique<Blocks>(Blocks{keyed(key, 0x36), keyed(key, 0x5c)})) {
  assert(key.size() <= kBlockBytes);
}
HmacSha1::HmacSha1(HmacSha1&&) noexcept = default;
HmacSha1::~HmacSha1() = default;

HmacSha1::Digest HmacSha1::of(std::string_view message) const {
  Digest digest;
  SHA_CTX inner = blocks_->inner, outer = blocks_->outer;
  SHA1_Update(&inner, message.data(), message.size());
  SHA1_Final(digest.data(), &inner);
  SHA1_Update(&outer, digest.data(), digest.size());
  SHA1_Final(digest.data(), &outer);
  return digest;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  if (text.empty()) return std::string();
  // EVP_DecodeBlock skips blanks at both ends.
  if (text.find_first_of(" \t\r\n") != text.npos) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  // It counts the padding as bytes.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace dtl
