#include "ring/meeting/control_line.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "base/fd.h"

namespace dtl::ring::control_test {
namespace {

struct Line {
  SocketPair ends = make_socketpair(SOCK_STREAM);
  Channel near{std::move(ends.first)}, far{std::move(ends.second)};
  FrameReader reader;
  std::vector<Frame> frames;

  LineState read_after(std::string_view bytes) {
    EXPECT_TRUE(send_now(far, bytes));
    return reader.read(near, frames);
  }
};

TEST(Control, FramesArriveWholeHoweverTheyAreCut) {
  const std::string bytes = encode({FrameKind::kFail, -3, 2, 0, "rank 2 was lost"}) +
                            encode({FrameKind::kBye, 0, 1, 17, {}});
  Line line;
  for (const char byte : bytes) EXPECT_EQ(line.read_after({&byte, 1}), LineState::kOpen);
  ASSERT_EQ(line.frames.size(), 2u);
  EXPECT_EQ(line.frames[0].status, -3);
  EXPECT_EQ(line.frames[0].rank, 2);
  EXPECT_EQ(line.frames[0].text, "rank 2 was lost");
  EXPECT_EQ(line.frames[1].kind, FrameKind::kBye);
  EXPECT_EQ(line.frames[1].completed, 17u);
}

TEST(Control, FramesBeforeTheEndAreKept) {
  Line line;
  EXPECT_TRUE(send_now(line.far, encode({FrameKind::kBye, 0, 1, 17, {}})));
  line.far = {};
  EXPECT_EQ(line.reader.read(line.near, line.frames), LineState::kClosed);
  EXPECT_EQ(line.frames.size(), 1u);
}

TEST(Control, UnknownKindAndOversizedTextAreGarbled) {
  std::string unknown = encode({FrameKind::kGo, 0, 0, 0, {}});
  unknown[0] = 99;
  EXPECT_EQ(Line().read_after(unknown), LineState::kGarbled);
  std::string oversized = encode({FrameKind::kFail, 0, 0, 0, {}});
  const std::uint32_t bytes = kMaxFrameText + 1;
  std::memcpy(oversized.data() + 4, &bytes, sizeof bytes);
  EXPECT_EQ(Line().read_after(oversized), LineState::kGarbled);
}

TEST(Control, LongReasonsAreCut) {
  Line line;
  EXPECT_EQ(line.read_after(encode({FrameKind::kFail, -1, 0, 0, std::string(5000, 'x')})),
            LineState::kOpen);
  ASSERT_EQ(line.frames.size(), 1u);
  EXPECT_EQ(line.frames[0].text.size(), kMaxFrameText);
}

}  // namespace
}  // namespace dtl::ring::control_test
