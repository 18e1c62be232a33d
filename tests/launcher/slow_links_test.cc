#include "launcher/job/slow_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::slow_links_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kMega = 1'000'000;

// A ring of hosts, each with a rate of sending to the next one.
class SlowLinksTest : public testing::Test {
 protected:
  // rates: of the link from each host to the next, in MB per second; all carry `bytes` per second.
  std::vector<SlowLink> pass(int seconds, const std::vector<double>& rates,
                             std::uint64_t bytes = 10 * kMega) {
    std::vector<SlowLink> told;
    for (int i = 0; i < seconds; ++i) {
      now_ += 1s;
      for (std::size_t node = 0; node < rates.size(); ++node) {
        const auto busy = static_cast<std::uint64_t>(static_cast<double>(bytes) / rates[node]);
        const int to = static_cast<int>((node + 1) % rates.size());
        links_.report(static_cast<int>(node), to, {"10.0.0." + std::to_string(to), bytes, busy});
      }
      if (auto slow = links_.look(now_)) told.push_back(std::move(*slow));
    }
    return told;
  }
  void SetUp() override { links_.begin(30s, now_); }

  SlowLinks links_;
  JobTime now_ = 5s;
};

TEST_F(SlowLinksTest, NamesWhoSendsOverTheOnlySlowLinkOnceAfterTwoWindows) {
  EXPECT_TRUE(pass(59, {900, 11, 800}).empty());
  const auto told = pass(200, {900, 11, 800});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].node, 1);
  EXPECT_THAT(told[0].text, HasSubstr("slow network: 11.0 MB/s to 10.0.0.2, against 800.0 MB/s over"
                                      " the others' links; its bytes were on their way 91 % of"));
}

TEST_F(SlowLinksTest, NamesTheHostThatAllSlowLinksHaveInCommon) {
  const auto told = pass(90, {11, 12, 900, 800, 850});  // to and from node 1
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].node, 1);
}

// If all send to all, one host's two directions are most of the links among three hosts.
TEST_F(SlowLinksTest, NamesTheHostThatMostLinksTouch) {
  std::vector<SlowLink> told;
  for (int i = 0; i < 90; ++i) {
    now_ += 1s;
    for (int from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) {
        const std::uint64_t rate = from == 1 ? 11 : to == 1 ? 20 : 900;
        links_.report(from, to, {"10.0.0." + std::to_string(to), 10 * kMega, 10 * kMega / rate});
      }
    }
    if (auto slow = links_.look(now_)) told.push_back(std::move(*slow));
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].node, 1);
  EXPECT_THAT(told[0].text, HasSubstr("11.0 MB/s to 10.0.0."));
  EXPECT_THAT(told[0].text, HasSubstr("against 900.0 MB/s"));
}

TEST_F(SlowLinksTest, NamesWhoSendsAmongTwoHosts) {
  const auto told = pass(90, {900, 11});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].node, 1);
}

TEST_F(SlowLinksTest, NamesNobodyWhereAllAreAlikeOrOneIsALittleSlower) {
  EXPECT_TRUE(pass(200, {11, 12, 10.5}).empty());
  EXPECT_TRUE(pass(200, {900, 400, 800}).empty());
  EXPECT_TRUE(pass(200, {11}).empty()) << "nobody to compare with";
}

TEST_F(SlowLinksTest, NamesNobodyForWhatCostsNoTime) {
  EXPECT_TRUE(pass(200, {900, 11, 800}, kMega).empty()) << "on their way 9 % of the time";
  EXPECT_TRUE(pass(200, {900, 11, 800}, 1000).empty()) << "round trips";
}

TEST_F(SlowLinksTest, ABadHalfMinuteIsNoSlowNetwork) {
  EXPECT_TRUE(pass(30, {900, 11, 800}).empty());
  EXPECT_TRUE(pass(30, {900, 850, 800}).empty());
  EXPECT_TRUE(pass(30, {900, 11, 800}).empty());
  links_.excuse(now_);
  EXPECT_FALSE(pass(60, {900, 11, 800}).empty());
}

}  // namespace
}  // namespace dtl::slow_links_test
