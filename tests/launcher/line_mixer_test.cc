#include "launcher/line_mixer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl {
namespace {

using testing::ElementsAre;

constexpr Stream kOut = Stream::kStdout;
constexpr Stream kErr = Stream::kStderr;

std::string text(LineMixer& mixer, Stream stream = kOut) {
  std::string all;
  for (const Chunk& chunk : mixer.take()) {
    if (chunk.stream == stream) all += chunk.bytes;
  }
  return all;
}

TEST(LineMixer, KeepsLinesWholeWhenRanksWriteInPieces) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "par", 0ms);
  mixer.feed(1, kOut, "other\npa", 0ms);
  mixer.feed(0, kOut, "t\n", 0ms);
  mixer.feed(1, kOut, "rt\n", 0ms);
  EXPECT_EQ(text(mixer), "[1] other\n[0] part\n[1] part\n");
}

TEST(LineMixer, PassesOneRankThroughByteForByte) {
  LineMixer mixer(1, false, false);
  const std::string bytes("a\0b\r\nc\rd\n\n\xff", 11);
  for (const char c : bytes) mixer.feed(0, kOut, std::string_view(&c, 1), 0ms);
  mixer.rank_ended(0);
  EXPECT_EQ(text(mixer), bytes);
}

TEST(LineMixer, ShowsAPromptAfterItsDelay) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "name? ", 1000ms);
  EXPECT_EQ(mixer.next_partial_line(), 1000ms + kPartialLineDelay);
  mixer.show_partial_lines(1000ms + kPartialLineDelay - 1ms);
  EXPECT_EQ(text(mixer), "");
  mixer.show_partial_lines(1000ms + kPartialLineDelay);
  EXPECT_EQ(text(mixer), "[0] name? ");
  EXPECT_EQ(mixer.next_partial_line(), std::nullopt);
  mixer.feed(0, kOut, "ok\n", 2000ms);
  EXPECT_EQ(text(mixer), "ok\n");
}

TEST(LineMixer, EndsAShownPartOfALineBeforeAnotherRanksLine) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "wait...", 0ms);
  mixer.show_partial_lines(1s);
  mixer.feed(1, kOut, "hello\n", 1s);
  mixer.feed(0, kOut, "done\n", 1s);
  EXPECT_EQ(text(mixer), "[0] wait...\n[1] hello\n[0] done\n");
}

TEST(LineMixer, LabelsEveryStateOfAProgressBar) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "\r10%\r20%\r", 0ms);
  mixer.show_partial_lines(1s);
  EXPECT_EQ(text(mixer), "\r[0] 10%\r[0] 20%\r");
  mixer.feed(1, kOut, "x\n", 1s);
  EXPECT_EQ(text(mixer), "\n[1] x\n");
}

TEST(LineMixer, KeepsACarriageReturnBeforeALineFeedTogether) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "dos\r", 0ms);
  mixer.feed(0, kOut, "\nline\r\n", 0ms);
  EXPECT_EQ(text(mixer), "[0] dos\r\n[0] line\r\n");
}

TEST(LineMixer, KeepsTheTwoStreamsApart) {
  LineMixer mixer(1, false, false);
  mixer.feed(0, kOut, "half", 0ms);
  mixer.feed(0, kErr, "error\n", 0ms);
  mixer.feed(0, kOut, " line\n", 0ms);
  std::string out, err;
  for (const Chunk& chunk : mixer.take()) (chunk.stream == kOut ? out : err) += chunk.bytes;
  EXPECT_EQ(out, "half line\n");
  EXPECT_EQ(err, "error\n");
}

TEST(LineMixer, PutsItsOwnLinesOnALineOfTheirOwn) {
  LineMixer mixer(1, false, true);
  mixer.feed(0, kOut, "half", 0ms);
  mixer.show_partial_lines(1s);
  mixer.say("dtlaunch: notice\n");
  EXPECT_EQ(text(mixer), "half");
  mixer.feed(0, kOut, "half", 1s);
  mixer.show_partial_lines(2s);
  mixer.say("dtlaunch: notice\n");
  EXPECT_EQ(text(mixer, kErr), "\ndtlaunch: notice\n");
}

TEST(LineMixer, ShowsWhatIsLeftWhenARankEnds) {
  LineMixer mixer(2, true, false);
  mixer.feed(1, kOut, "no line end", 0ms);
  mixer.rank_ended(1);
  mixer.feed(0, kOut, "x\n", 0ms);
  EXPECT_EQ(text(mixer), "[1] no line end\n[0] x\n");
}

TEST(LineMixer, ShowsAnEndlessLineInPieces) {
  LineMixer mixer(1, true, false);
  const std::string piece(40 << 10, 'x');
  mixer.feed(0, kOut, piece, 0ms);
  EXPECT_EQ(text(mixer), "");
  mixer.feed(0, kOut, piece, 0ms);
  EXPECT_EQ(text(mixer).size(), 2 * piece.size() + 4);
}

TEST(LineMixer, IgnoresRanksThatAreNotThere) {
  LineMixer mixer(1, true, false);
  mixer.feed(1, kOut, "x\n", 0ms);
  EXPECT_EQ(text(mixer), "");
}

TEST(LineTail, KeepsTheLastTwentyLines) {
  LineTail tail;
  for (int i = 0; i < 30; ++i) tail.feed("line " + std::to_string(i) + "\n");
  tail.feed("and a ha");
  tail.feed("lf");
  const auto lines = tail.lines();
  ASSERT_EQ(lines.size(), 20U);
  EXPECT_EQ(lines.front(), "line 11");
  EXPECT_EQ(lines.back(), "and a half");
}

TEST(LineTail, DropsEmptyLinesAndBoundsLongOnes) {
  LineTail tail;
  tail.feed("\n\n" + std::string(10000, 'x') + "\n");
  ASSERT_EQ(tail.lines().size(), 1U);
  EXPECT_LE(tail.lines()[0].size(), 400U);
}

}  // namespace
}  // namespace dtl
