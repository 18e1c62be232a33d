#include "wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/limits.h"
#include "examples.h"
#include "wire/codec.h"

namespace dtl {
namespace {

using testing::HasSubstr;

// A frame with any header and body, its checksum correct.
std::string raw_frame(std::uint32_t length, std::uint16_t type, const std::string& body,
                      std::uint32_t sequence = 0) {
  Writer writer("test");
  writer.number("length", length, UINT32_MAX);
  writer.number("type", type, UINT16_MAX);
  writer.number("flags", std::uint16_t{0}, UINT16_MAX);
  writer.number("checksum", crc32c(body), UINT32_MAX);
  writer.number("sequence", sequence, UINT32_MAX);
  return writer.take() + body;
}

std::string problem_of(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  try {
    return reader.next() ? "decoded" : "incomplete";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kVersion);
    return error.what();
  }
}

TEST(Frame, GivesBackEveryMessageByteForByte) {
  FrameReader reader;
  std::uint32_t sequence = 0;
  for (const auto& [name, message] : example_messages()) {
    const std::string frame = encode_frame(message, sequence);
    reader.feed(frame);
    const auto decoded = reader.next();
    ASSERT_TRUE(decoded.has_value()) << name;
    EXPECT_EQ(encode_frame(*decoded, sequence), frame) << name;
    EXPECT_EQ(message_name(*decoded), name);
    ++sequence;
  }
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Frame, IsDecodedFromSingleBytes) {
  const std::string bytes =
      encode_frame(Trouble{"no descriptors left"}, 0) + encode_frame(Started{1, 2}, 1);
  FrameReader reader;
  std::vector<Message> messages;
  for (const char byte : bytes) {
    reader.feed(std::string_view(&byte, 1));
    while (auto message = reader.next()) messages.push_back(*message);
  }
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(std::get<Trouble>(messages[0]).text, "no descriptors left");
  EXPECT_EQ(std::get<Started>(messages[1]).pid, 2u);
}

TEST(Frame, RefusesALengthOverTheLimitFromTheHeaderAlone) {
  EXPECT_THAT(problem_of(raw_frame(kMaxFrameBytes, 15, "")), HasSubstr("length is 1048576"));
}

TEST(Frame, RefusesUnknownTypes) {
  EXPECT_THAT(problem_of(raw_frame(0, 0, "")), HasSubstr("unknown message type 0"));
  EXPECT_THAT(problem_of(raw_frame(0, 999, "")), HasSubstr("unknown message type 999"));
}

TEST(Frame, RefusesAWrongSequenceNumber) {
  EXPECT_THAT(problem_of(encode_frame(Kill{}, 1)), HasSubstr("sequence number 1 where 0 was due"));
}

TEST(Frame, RefusesAWrongChecksum) {
  std::string frame = encode_frame(Trouble{"text"}, 0);
  frame.back() = 'x';
  EXPECT_THAT(problem_of(frame), HasSubstr("wrong checksum"));
}

TEST(Frame, RefusesBytesLeftOver) {
  EXPECT_THAT(problem_of(raw_frame(1, 15, "x")), HasSubstr("1 bytes too many"));
}

TEST(Frame, ChecksACountAgainstTheBytesThatAreThere) {
  Writer body("test");
  body.number("count", std::uint32_t{4096}, UINT32_MAX);  // endpoints that do not follow
  const std::string bytes = body.take();
  EXPECT_THAT(problem_of(raw_frame(4, 5, bytes)), HasSubstr("beyond the end of the frame"));
}

TEST(Frame, RefusesACountOverItsBound) {
  Writer body("test");
  body.number("count", UINT32_MAX, UINT32_MAX);
  EXPECT_THAT(problem_of(raw_frame(4, 5, body.take())), HasSubstr("endpoints is 4294967295"));
}

TEST(Frame, RefusesANulInsideAnArgument) {
  RankSpec rank;
  rank.arguments.push_back(std::string("a\0b", 3));
  EXPECT_THROW(encode_frame(Start{"", {rank}}, 0), Error);
}

TEST(Frame, NamesTheFieldThatIsTooLarge) {
  try {
    encode_frame(Output{0, Stream::kStdout, std::string(kMaxOutputBytes + 1, 'x')}, 0);
    FAIL() << "was encoded";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot send Output: bytes is 65537, the limit is 65536");
  }
}

TEST(SplitStart, KeepsEveryRankInOrderAndEachPieceWithinAFrame) {
  Start start;
  start.secret = std::string(32, 's');
  for (std::uint32_t i = 0; i < 50; ++i) {
    RankSpec rank;
    rank.rank = i;
    rank.environment.push_back("A=" + std::string(100000, 'x'));
    start.ranks.push_back(rank);
  }
  std::uint32_t next = 0;
  const auto pieces = split_start(start);
  EXPECT_EQ(pieces.size(), 5u);
  for (const Start& piece : pieces) {
    EXPECT_EQ(piece.secret, start.secret);
    EXPECT_LE(encode_frame(piece, 0).size(), kMaxFrameBytes);
    for (const RankSpec& rank : piece.ranks) EXPECT_EQ(rank.rank, next++);
  }
  EXPECT_EQ(next, 50u);
}

TEST(SplitStart, RefusesARankThatFitsInNoFrame) {
  RankSpec rank;
  rank.environment.assign(11, "A=" + std::string(100000, 'x'));
  EXPECT_THROW(split_start(Start{"", {rank}}), Error);
}

}  // namespace
}  // namespace dtl
