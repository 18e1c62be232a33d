#include "wire/answer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"

namespace dtl::answer_test {
namespace {

TEST(Answer, IsFoundBehindWhatTheShellPrinted) {
  const auto text = find_answer("Welcome to n1\n" + answer_line() + "job 1\nend\n");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "job 1\nend\n");
}

TEST(Answer, IsWaitedForWhenItIsCut) {
  const std::string line = answer_line();
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(find_answer(line.substr(0, size)));
  }
  EXPECT_EQ(find_answer(line), "");
}

TEST(Answer, OfAnotherProtocolIsRefused) {
  EXPECT_THROW(find_answer("\nDTAGENT-ANSWER 1\n"), Error);
}

TEST(Answer, EndsAShellThatPrintsForEver) {
  EXPECT_THROW(find_answer(std::string(kMaxShellNoiseBytes, 'x')), Error);
}

}  // namespace
}  // namespace dtl::answer_test
