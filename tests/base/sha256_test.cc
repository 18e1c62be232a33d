#include "base/sha256.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dtl::sha256_test
