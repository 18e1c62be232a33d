#include "launcher/join/join_words.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "launcher/join/join_seat.h"
#include "wire/messages.h"

namespace dtl::join_words_test {
namespace {

using Kind = JoinFrame::Kind;

const JoinHello kHello{kProtocol, DTL_VERSION, "job-1", 2, 3, "web-3"};

std::vector<SeatState> seats(std::size_t count) {
  return std::vector<SeatState>(count);
}

TEST(JoinFrames, ComeBackHoweverTheyAreCut) {
  const std::string bytes = frame_bytes({Kind::kStart, {}}) +
                            frame_bytes({Kind::kBytes, std::string(kMaxJoinText, 'x')}) +
                            frame_bytes({Kind::kDone, "143"});
  JoinFrameReader reader;
  std::vector<JoinFrame> frames;
  for (std::size_t at = 0; at < bytes.size(); at += 1000) {
    reader.feed(std::string_view(bytes).substr(at, 1000));
    while (auto frame = reader.next()) frames.push_back(std::move(*frame));
  }
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].kind, Kind::kStart);
  EXPECT_EQ(frames[1].text.size(), kMaxJoinText);
  EXPECT_EQ(frames[2].text, "143");
}

TEST(JoinFrames, ThatAreNoneAreRefusedBeforeTheyHaveCome) {
  for (const std::string& bytes : {std::string("\0\1\0\0", 4), std::string("\x0c\1\0\0", 4),
                                   std::string("\5\xff\xff\xff", 4)}) {
    JoinFrameReader reader;
    reader.feed(bytes);
    EXPECT_THROW(reader.next(), Error);
  }
}

TEST(JoinHello, ComesBack) {
  EXPECT_EQ(parse_hello(to_text(kHello)), kHello);
  JoinHello unnumbered = kHello;
  unnumbered.rank = -1;
  unnumbered.job.clear();
  EXPECT_EQ(parse_hello(to_text(unnumbered)), unnumbered);
  JoinHello again = kHello;
  again.before = JoinSeat{"0123456789abcdef", 2, 4};
  EXPECT_EQ(parse_hello(to_text(again)), again);
}

TEST(JoinHello, OfAnotherVersionIsKnownByItsVersionAlone) {
  const auto hello = parse_hello("99\n7.0\nwhatever\ncomes");
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->protocol, 99U);
  EXPECT_EQ(hello->version, "7.0");
}

TEST(JoinHello, ThatIsNoneIsNone) {
  for (const std::string name : {"", "-x", "a b", "a/b", "x\x1b[2J"}) {
    JoinHello hello = kHello;
    hello.name = name;
    EXPECT_FALSE(parse_hello(to_text(hello))) << name;
  }
  for (const char* text : {"", "6", "x\n1", "\n\n\n\n\n"}) EXPECT_FALSE(parse_hello(text)) << text;
  EXPECT_FALSE(parse_hello(to_text(kHello) + "\nmore"));
  std::string seatless = to_text(kHello);
  seatless.back() = '?';  // "-": no seat
  EXPECT_FALSE(parse_hello(seatless));
}

TEST(JoinSeat, ComesBackOrIsNone) {
  const JoinSeat seat{"0123456789abcdef", 0, 1};
  EXPECT_EQ(parse_seat(to_text(seat)), seat);
  for (const char* text : {"", "0123456789abcdef 0", "0123456789abcdef 0 0", "0123 0 1",
                           "0123456789abcdeF 0 1", "0123456789abcdef -1 1"}) {
    EXPECT_FALSE(parse_seat(text)) << text;
  }
}

TEST(JoinStatus, IsAnExitStatusOrNothing) {
  EXPECT_EQ(parse_status("0"), 0);
  EXPECT_EQ(parse_status("255"), 255);
  for (const char* text : {"", "256", "-1", "1 "}) EXPECT_FALSE(parse_status(text)) << text;
}

TEST(JoinSeat, IsTheRanksOrTheNames) {
  EXPECT_EQ(judge_hello({"job-1", 2, {}, 3, 1}, kHello, seats(3)).place, 2U);
  EXPECT_EQ(judge_hello({"job-1", 2, {"web-1", "web-3"}, 0, 0}, kHello, seats(2)).place, 1U);
}

TEST(JoinSeat, ThatIsTakenIsToBeAskedForAgain) {
  std::vector<SeatState> all = seats(3);
  all[2] = {"web-3", 1, true};
  const SeatAnswer answer = judge_hello({"job-1", 2, {}, 3, 1}, kHello, all);
  EXPECT_EQ(answer.refusal.kind, Kind::kComeAgain);
  EXPECT_EQ(answer.refusal.text, "web-3 has come already");
}

TEST(JoinSeat, ByWishIsTheOneWishedForOrTheOneOfBeforeOrAnother) {
  const ExpectedNodes expected{"job-1", 2, {}, 3, 1, true};
  std::vector<SeatState> all = seats(3);
  EXPECT_EQ(judge_hello(expected, kHello, all).place, 2U);
  all[2] = {"web-7", 1, true};
  EXPECT_EQ(judge_hello(expected, kHello, all).place, 0U);
  all[1] = {"web-3", 1, false};
  EXPECT_EQ(judge_hello(expected, kHello, all).place, 1U);
  all[1].taken = true;  // by its old connection, until that counts as lost
  EXPECT_EQ(judge_hello(expected, kHello, all).refusal.kind, Kind::kComeAgain);
  all[1].name = "web-8";
  all[0] = {"web-9", 2, false};
  EXPECT_EQ(judge_hello(expected, kHello, all).place, 0U);
  all[0].taken = true;
  EXPECT_EQ(judge_hello(expected, kHello, all).refusal.text,
            "the job has 4 nodes, and takes no more");
  JoinHello unnumbered = kHello;
  unnumbered.rank = -1;
  EXPECT_EQ(judge_hello(expected, unnumbered, seats(3)).place, 0U);
}

TEST(JoinSeat, IsKeptUntilAnotherHasComeThere) {
  ExpectedNodes expected{"job-1", 2, {}, 3, 1};
  expected.room = "0123456789abcdef";
  JoinHello hello = kHello;
  hello.before = JoinSeat{expected.room, 2, 4};
  std::vector<SeatState> all = seats(3);
  all[2] = {"web-3", 4, true};
  SeatAnswer answer = judge_hello(expected, hello, all);
  EXPECT_EQ(answer.place, 2U);
  EXPECT_TRUE(answer.returns);
  all[2].generation = 5;
  answer = judge_hello(expected, hello, all);
  EXPECT_EQ(answer.refusal.kind, Kind::kRefused);
  EXPECT_EQ(answer.refusal.text,
            "web-3 has come in its place since: it is of generation 4 there, this is generation 5");
  all[2].generation = 3;
  EXPECT_EQ(judge_hello(expected, hello, all).refusal.kind, Kind::kRefused);
  hello.before->place = 3;
  EXPECT_EQ(judge_hello(expected, hello, all).refusal.kind, Kind::kRefused);
  // In another room it is as new as everybody else.
  hello.before->room = "fedcba9876543210";
  all[2] = {};
  answer = judge_hello(expected, hello, all);
  EXPECT_EQ(answer.place, 2U);
  EXPECT_FALSE(answer.returns);
}

TEST(JoinSeat, IsRefusedWithTheReason) {
  const auto why = [](ExpectedNodes expected, JoinHello hello) {
    const SeatAnswer answer = judge_hello(expected, hello, seats(3));
    EXPECT_FALSE(answer.place);
    EXPECT_EQ(answer.refusal.kind, Kind::kRefused);
    return answer.refusal.text;
  };
  const ExpectedNodes expected{"job-1", 2, {}, 3, 1};
  JoinHello hello = kHello;
  hello.job = "job-2";
  EXPECT_EQ(why(expected, hello), "it belongs to job 'job-2', this is job 'job-1'");
  hello = kHello;
  hello.restart = 1;
  EXPECT_EQ(why(expected, hello),
            "the scheduler has started the job again since: it is of start 1, this is start 2");
  for (const int rank : {0, 4}) {
    hello = kHello;
    hello.rank = rank;
    EXPECT_NE(why(expected, hello).find("it has 4 nodes"), std::string::npos);
  }
  hello.rank = -1;
  EXPECT_EQ(why(expected, hello), "it does not say which node of the job it is");
  EXPECT_EQ(why({"job-1", 2, {"web-1"}, 0, 0}, kHello), "no node of the job is called 'web-3'");
  hello.protocol = 99;
  EXPECT_NE(why(expected, hello).find("install the same version"), std::string::npos);
}

// The pod of a new generation meets the old generation's dtlaunch, which is about to end.
TEST(JoinSeat, OfALaterStartIsToComeAgain) {
  JoinHello hello = kHello;
  hello.restart = 3;
  EXPECT_EQ(judge_hello({"job-1", 2, {}, 3, 1}, hello, seats(3)).refusal.kind, Kind::kComeAgain);
}

}  // namespace
}  // namespace dtl::join_words_test
