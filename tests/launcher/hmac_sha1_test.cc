#include "launcher/ssh/hmac_sha1.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace dtl::hmac_sha1_test {
namespace {

std::string hex(const HmacSha1::Digest& digest) {
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// RFC 2202, cases 1 and 2; the second use shows that a key's blocks are kept.
TEST(HmacSha1, IsThatOfTheStandard) {
  EXPECT_EQ(hex(HmacSha1(std::string(20, '\x0b')).of("Hi There")),
            "b617318655057264e28bc0b6fb378c8ef146be00");
  const HmacSha1 jefe("Jefe");
  jefe.of("something else");
  EXPECT_EQ(hex(jefe.of("what do ya want for nothing?")),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
}

TEST(Base64, ReadsItsPaddingAndNothingElse) {
  EXPECT_EQ(decode_base64("aGVsbG8="), "hello");
  EXPECT_EQ(decode_base64("aGVsbA=="), "hell");
  EXPECT_EQ(decode_base64("aGVs"), "hel");
  EXPECT_EQ(decode_base64(""), "");
  for (const char* text : {"aGVsbG8", "aGVs bG8", " GVs", "aGV\n", "a*Vs"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace dtl::hmac_sha1_test
