#include "base/sha256.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace dtl::sha256_test {
namespace {

// The example of FIPS 180-4, and the digest of the empty message.
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  const std::string text(1000, 'x');
  Sha256 sum;
  for (const std::size_t size : {1, 63, 64, 872}) sum.add(std::string_view(text).substr(0, size));
  EXPECT_EQ(sum.hex(), sha256_hex(text));
}

// RFC 4231, cases 1, 2, 6.
TEST(HmacSha256, GivesTheStandardsExamples) {
  const auto hex = [](const std::string& key, const std::string& message) {
    return to_hex(hmac_sha256(key, message));
  };
  EXPECT_EQ(hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace dtl::sha256_test
