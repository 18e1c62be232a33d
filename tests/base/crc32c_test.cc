#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace dtl::crc32c_test {
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

TEST(Crc32c, GoesOnWhereItStopped) {
  const std::string bytes = "123456789";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const auto [first, rest] = std::pair(bytes.substr(0, cut), bytes.substr(cut));
    EXPECT_EQ(crc32c(rest, crc32c(first)), crc32c(bytes)) << cut;
    EXPECT_EQ(crc32c_by_table(rest, crc32c_by_table(first)), crc32c(bytes)) << cut;
  }
}

}  // namespace
}  // namespace dtl::crc32c_test
