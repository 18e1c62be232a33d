#include "agent/tree/shared_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/sha256.h"

namespace dtl::shared_frames_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string digest(const std::string& piece) {
  Sha256 sum;
  sum.add(piece);
  const Sha256::Digest bytes = sum.digest();
  return {bytes.begin(), bytes.end()};
}

SharedFrame frame_of(const std::vector<std::string>& pieces) {
  SharedFrame frame;
  for (const std::string& piece : pieces) frame.digests.push_back(digest(piece));
  return frame;
}

TEST(SharedFrames, PutsAFrameTogetherFromPiecesInAnyOrder) {
  SharedFrames frames;
  frames.keep("b");
  frames.keep("of another frame");
  frames.keep("a");
  EXPECT_THAT(frames.expect(frame_of({"a", "b"})), IsEmpty());
  EXPECT_THAT(frames.take(), ElementsAre("ab"));
  EXPECT_THAT(frames.take(), IsEmpty());
}

TEST(SharedFrames, AsksForWhatHasNotCome) {
  SharedFrames frames;
  frames.keep("a");
  const auto wanted = frames.expect(frame_of({"a", "b", "c"}));
  ASSERT_EQ(wanted.size(), 2U);
  EXPECT_EQ(wanted[0].digest, digest("b"));
  EXPECT_EQ(wanted[1].digest, digest("c"));
  frames.give({"c"});
  EXPECT_THAT(frames.take(), IsEmpty());
  frames.give({"b"});
  EXPECT_THAT(frames.take(), ElementsAre("abc"));
}

TEST(SharedFrames, KeepsTheOrderOfFramesThatLackPieces) {
  SharedFrames frames;
  EXPECT_EQ(frames.expect(frame_of({"a"})).size(), 1U);
  frames.keep("b");
  EXPECT_THAT(frames.expect(frame_of({"b"})), IsEmpty());
  EXPECT_THAT(frames.take(), IsEmpty());
  frames.give({"a"});
  EXPECT_THAT(frames.take(), ElementsAre("a", "b"));
}

TEST(SharedFrames, AsksTwiceForAPieceThatTwoFramesHave) {
  SharedFrames frames;
  frames.keep("a");
  frames.keep("a");
  EXPECT_THAT(frames.expect(frame_of({"a"})), IsEmpty());
  EXPECT_EQ(frames.expect(frame_of({"a"})).size(), 1U);
  EXPECT_EQ(frames.expect(frame_of({"a", "a"})).size(), 2U);
  for (int i = 0; i < 3; ++i) frames.give({"a"});
  EXPECT_THAT(frames.take(), ElementsAre("a", "a", "aa"));
}

TEST(SharedFrames, RefusesAChangedPiece) {
  SharedFrames frames;
  EXPECT_THROW(frames.give({"a"}), Error);
  EXPECT_EQ(frames.expect(frame_of({"a"})).size(), 1U);
  frames.keep("A");
  EXPECT_THROW(frames.give({"A"}), Error);
  EXPECT_THAT(frames.take(), IsEmpty());
}

TEST(SharedFrames, ForgetsTheOldestPiecesThatNobodyNeeded) {
  constexpr std::size_t kPiece = 64 << 10;
  const auto piece = [](std::size_t number) {
    return std::to_string(number) + std::string(kPiece - std::to_string(number).size(), '.');
  };
  const std::size_t most = SharedFrames::kMostKept / kPiece;
  SharedFrames frames;
  for (std::size_t i = 0; i <= most; ++i) frames.keep(piece(i));
  EXPECT_THAT(frames.expect(frame_of({piece(1)})), IsEmpty());
  EXPECT_EQ(frames.expect(frame_of({piece(0)})).size(), 1U);
  // Used ones make room.
  frames.keep(piece(most + 1));
  EXPECT_THAT(frames.expect(frame_of({piece(2)})), IsEmpty());
}

}  // namespace
}  // namespace dtl::shared_frames_test
