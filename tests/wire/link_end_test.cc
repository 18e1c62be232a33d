#include "wire/link_end.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace dtl::link_end_test {
namespace {

Frame frame(std::size_t bytes) {
  return encode_frame(Output{0, Stream::kStdout, std::string(bytes, 'x')}, 0);
}

void send(LinkEnd& end, int frames, std::size_t bytes = 10) {
  for (int i = 0; i < frames; ++i) {
    Frame one = frame(bytes);
    end.number(one);
  }
}

TEST(LinkEnd, SendsAgainWhatTheOtherEndLacksWithItsNumbers) {
  LinkEnd end;
  send(end, 2);
  end.keep();
  send(end, 3);
  EXPECT_TRUE(end.acknowledge(3));
  const auto lacking = end.resume(4);
  ASSERT_TRUE(lacking);
  ASSERT_EQ(lacking->size(), 1u);
  Frame last = frame(10);
  set_frame_sequence(last, 4);
  EXPECT_EQ(lacking->front().head, last.head);
}

TEST(LinkEnd, KnowsNothingOfWhatWasNotKeptOrNeverSent) {
  LinkEnd end;
  send(end, 2);
  end.keep();
  send(end, 1);
  EXPECT_FALSE(end.acknowledge(4));
  EXPECT_FALSE(end.resume(4));
  EXPECT_FALSE(end.resume(1));
  EXPECT_TRUE(end.resume(2));
}

TEST(LinkEnd, IsFullUntilTheOtherEndHasSaidWhatItHas) {
  LinkEnd end;
  end.keep();
  const int frames = static_cast<int>(LinkEnd::kMostKept / kMaxOutputBytes);
  send(end, frames - 1, kMaxOutputBytes);
  EXPECT_FALSE(end.is_full());
  send(end, 1, kMaxOutputBytes);
  EXPECT_TRUE(end.is_full());
  end.acknowledge(1);
  EXPECT_FALSE(end.is_full());
}

TEST(LinkEnd, SaysWhatHasComeWithAHeartbeatOrWhenItIsMuch) {
  LinkEnd end;
  end.took(100);
  EXPECT_FALSE(end.receipt(true)) << "nobody keeps anything yet";
  end.keep();
  EXPECT_FALSE(end.receipt(false));
  EXPECT_EQ(end.receipt(true)->frames, 1u);
  EXPECT_FALSE(end.receipt(true)) << "it has been said";
  end.took(LinkEnd::kReceiptBytes);
  EXPECT_EQ(end.receipt(false)->frames, 2u);
}

TEST(LinkEnd, AdmitsItsLauncherAndOnlyWithANewOffer) {
  LinkEnd end;
  EXPECT_EQ(end.admit({"token", 2, 0}, "token"), ResumeAnswer::kResumed);
  EXPECT_EQ(end.admit({"token", 2, 0}, "token"), ResumeAnswer::kRefused);
  EXPECT_EQ(end.admit({"token", 1, 0}, "token"), ResumeAnswer::kRefused);
  EXPECT_EQ(end.admit({"other", 3, 0}, "token"), ResumeAnswer::kRefused);
  EXPECT_EQ(end.admit({"token", 3, 0}, "token"), ResumeAnswer::kResumed);
}

TEST(LinkEnd, TakesTheAnswerToItsLastOffer) {
  LinkEnd end;
  end.offer("token", 1);
  EXPECT_EQ(end.offer("token", 2).attempt, 2u);
  EXPECT_FALSE(end.is_answer({ResumeAnswer::kResumed, 1, 0}));
  EXPECT_FALSE(end.is_answer({ResumeAnswer::kRefused, 2, 0}));
  EXPECT_TRUE(end.is_answer({ResumeAnswer::kResumed, 2, 0}));
}

}  // namespace
}  // namespace dtl::link_end_test
