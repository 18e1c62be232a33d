#include "wire/greeting.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"

namespace dtl::greeting_test {
namespace {

const Greeting kGreeting{2, "0.1.0", "0123456789abcdef0123456789abcdef"};

TEST(Greeting, IsOneLineOfWords) {
  EXPECT_EQ(to_line(kGreeting), "\nDTLAUNCH-AGENT 2 0.1.0 0123456789abcdef0123456789abcdef\n");
}

TEST(Greeting, IsFoundAfterShellNoiseAndBeforeTheFirstFrame) {
  const auto found = find_greeting("Welcome to n1\nbye" + to_line(kGreeting) + "frames");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->noise, "Welcome to n1\nbye");
  EXPECT_EQ(found->rest, "frames");
  EXPECT_EQ(found->greeting.protocol, 2u);
  EXPECT_EQ(found->greeting.version, "0.1.0");
  EXPECT_EQ(found->greeting.nonce, kGreeting.nonce);
}

TEST(Greeting, IsNotFoundBeforeItsLastByte) {
  const std::string line = to_line(kGreeting);
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(find_greeting(line.substr(0, size)).has_value()) << size;
  }
}

TEST(Greeting, IsNotMistakenForNoiseThatLooksLikeIt) {
  const auto found = find_greeting("\nDTLAUNCH-AGENT is cool\n\nDTLAUNCH-AGENT 2 0.1.0 XYZ\n" +
                                   to_line(kGreeting));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->greeting.nonce, kGreeting.nonce);
}

TEST(Greeting, OfAnotherProtocolIsStillRead) {
  EXPECT_EQ(find_greeting(to_line({9, "2.0", kGreeting.nonce}))->greeting.protocol, 9u);
}

TEST(Greeting, IsNotWaitedForBeyondTheNoiseLimit) {
  EXPECT_FALSE(find_greeting(std::string(kMaxShellNoiseBytes, 'x')).has_value());
  EXPECT_THROW(find_greeting(std::string(kMaxShellNoiseBytes + 1, 'x')), Error);
}

}  // namespace
}  // namespace dtl::greeting_test
