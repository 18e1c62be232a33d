#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace dtl {
namespace {

TEST(Crc32c, AgreesWithTheVectorsOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, IsTheSameByTableAndByInstruction) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(bytes), crc32c_by_table(bytes)) << i;
    bytes.push_back(static_cast<char>(i * 37));
  }
}

}  // namespace
}  // namespace dtl
