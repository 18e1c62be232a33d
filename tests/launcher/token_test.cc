#include "launcher/join/token.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dtl::token_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Token, IsTakenWithoutTheLineEndOfItsFile) {
  const std::string token = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(parse_token(token + "\n", "DTL_TOKEN_FILE=t"), token);
}

TEST(Token, ThatCanBeGuessedIsRefusedAndNotShown) {
  for (const std::string& bad : {std::string(), std::string("0123456789abcdef0123456789abcde"),
                                 std::string(64, 'x'), std::string("secret secret")}) {
    try {
      parse_token(bad, "DTL_TOKEN");
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kConfig);
      EXPECT_THAT(error.what(), HasSubstr("DTL_TOKEN: no token"));
      EXPECT_THAT(error.what(), HasSubstr("openssl rand -hex 32"));
      if (!bad.empty()) {
        EXPECT_THAT(error.what(), Not(HasSubstr(bad)));
      }
    }
  }
}

}  // namespace
}  // namespace dtl::token_test
