#include "wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/limits.h"
#include "examples.h"
#include "frame_bytes.h"
#include "wire/codec.h"

namespace dtl::frame_test {
namespace {

using testing::HasSubstr;

// A frame with any header and body and a correct checksum.
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
    const std::string frame = frame_bytes(message, sequence);
    reader.feed(frame);
    const auto decoded = reader.next();
    ASSERT_TRUE(decoded.has_value()) << name;
    EXPECT_EQ(frame_bytes(*decoded, sequence), frame) << name;
    EXPECT_EQ(message_name(*decoded), name);
    ++sequence;
  }
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Frame, IsDecodedFromSingleBytes) {
  const std::string bytes =
      frame_bytes(Trouble{"no descriptors left"}, 0) + frame_bytes(Started{1, 2}, 1);
  FrameReader reader;
  std::vector<Message> messages;
  for (const char byte : bytes) {
    reader.feed(std::string(1, byte));
    while (auto message = reader.next()) messages.push_back(*message);
  }
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(std::get<Trouble>(messages[0]).text, "no descriptors left");
  EXPECT_EQ(std::get<Started>(messages[1]).pid, 2u);
}

TEST(Frame, TakesOverTheBytesOfOutputHoweverTheyAreCut) {
  const std::string text(100, '~');
  const std::string bytes = frame_bytes(Output{3, Stream::kStdout, text}, 0) +
                            frame_bytes(Output{4, Stream::kStderr, ""}, 1);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    FrameReader reader;
    std::vector<Output> outputs;
    for (const std::string& piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
      reader.feed(piece);
      while (auto message = reader.next()) outputs.push_back(std::get<Output>(*message));
    }
    ASSERT_EQ(outputs.size(), 2u) << cut;
    EXPECT_EQ(outputs[0].bytes, text) << cut;
    EXPECT_EQ(outputs[1].rank, 4u) << cut;
    EXPECT_EQ(outputs[1].bytes, "") << cut;
  }
}

TEST(Frame, SendsTheBytesOfOutputFromWhereTheyAre) {
  std::string text(1000, '~');
  const char* const where = text.data();
  const Frame frame = encode_frame(Output{3, Stream::kStdout, std::move(text)}, 0);
  EXPECT_EQ(frame.tail.data(), where);
  EXPECT_EQ(frame.head.size(), kFrameHeaderBytes + 9);
}

TEST(Frame, RefusesOutputOfAnotherLengthThanItSays) {
  for (const auto& [length, problem] : {std::pair<std::uint32_t, const char*>{4, "beyond the end"},
                                        {2, "1 bytes too many"},
                                        {65537, "bytes is 65537"}}) {
    Writer body("test");
    body.number("rank", std::uint32_t{0}, 1);
    body.number("stream", std::uint8_t{1}, 2);
    body.number("bytes", length, UINT32_MAX);
    EXPECT_THAT(problem_of(raw_frame(12, 12, body.take() + "abc")), HasSubstr(problem));
  }
  EXPECT_THAT(problem_of(raw_frame(3, 12, "abc")), HasSubstr("beyond the end"));
}

TEST(Frame, RefusesALengthOverTheLimitFromTheHeaderAlone) {
  EXPECT_THAT(problem_of(raw_frame(kMaxFrameBytes, 15, "")), HasSubstr("length is 1048576"));
}

TEST(Frame, RefusesUnknownTypes) {
  EXPECT_THAT(problem_of(raw_frame(0, 0, "")), HasSubstr("unknown message type 0"));
  EXPECT_THAT(problem_of(raw_frame(0, 999, "")), HasSubstr("unknown message type 999"));
}

TEST(Frame, RefusesAWrongSequenceNumber) {
  EXPECT_THAT(problem_of(frame_bytes(Kill{}, 1)), HasSubstr("sequence number 1 where 0 was due"));
}

TEST(Frame, RefusesAWrongChecksum) {
  std::string frame = frame_bytes(Trouble{"text"}, 0);
  frame.back() = 'x';
  EXPECT_THAT(problem_of(frame), HasSubstr("wrong checksum"));
}

TEST(Frame, RefusesBytesLeftOver) {
  EXPECT_THAT(problem_of(raw_frame(1, 15, "x")), HasSubstr("1 bytes too many"));
}

TEST(Frame, ChecksACountAgainstTheBytesThatAreThere) {
  Writer body("test");
  body.number("count", std::uint32_t{4096}, UINT32_MAX);  // announces endpoints that do not follow
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
  EXPECT_THROW(frame_bytes(Start{"", {rank}}, 0), Error);
}

TEST(Frame, NamesTheFieldThatIsTooLarge) {
  try {
    frame_bytes(Output{0, Stream::kStdout, std::string(kMaxOutputBytes + 1, 'x')}, 0);
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
    rank.environment.added.push_back({0, "A=" + std::string(100000, 'x')});
    start.ranks.push_back(rank);
  }
  std::uint32_t next = 0;
  const auto pieces = split_start(start, std::vector<std::size_t>(50));
  EXPECT_EQ(pieces.size(), 5u);
  for (const Start& piece : pieces) {
    EXPECT_EQ(piece.secret, start.secret);
    EXPECT_LE(frame_bytes(piece, 0).size(), kMaxFrameBytes);
    for (const RankSpec& rank : piece.ranks) EXPECT_EQ(rank.rank, next++);
  }
  EXPECT_EQ(next, 50u);
}

TEST(SplitStart, RefusesARankThatFitsInNoFrame) {
  RankSpec rank;
  rank.environment.added.assign(11, {0, "A=" + std::string(100000, 'x')});
  EXPECT_THROW(split_start(Start{"", {rank}}, {0}), Error);
  rank.environment.added.resize(1);
  EXPECT_NO_THROW(split_start(Start{"", {rank}}, {900'000}));
  EXPECT_THROW(split_start(Start{"", {rank}}, {1'000'000}), Error);
}

}  // namespace
}  // namespace dtl::frame_test
