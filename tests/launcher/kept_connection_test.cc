// What `dtlaunch up` decides without a connection: where a conversation ends, and whether bytes are
// a request.
#include <gtest/gtest.h>

#include <random>

#include "launcher/agents/kept_connection_request.h"
#include "launcher/keep/frame_cutter.h"
#include "tests/wire/frame_bytes.h"
#include "wire/fields.h"
#include "wire/frame.h"

namespace dtl::kept_connection_test {
namespace {

std::string frames() {
  // An Output that contains the last frame's bytes, then the last frame, then the next greeting.
  return frame_bytes(Output{0, Stream::kStdout, frame_bytes(Finished{}, 0)}, 0) +
         frame_bytes(Finished{1, 2}, 1);
}

TEST(FrameCutter, EndsAfterTheLastFrameHoweverTheBytesCome) {
  const std::string conversation = frames();
  const std::string all = conversation + "\nDTLAUNCH-AGENT 2";
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    FrameCutter cutter(kMessageType<Finished>);
    std::string taken;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      const std::string bytes = all.substr(at, piece);
      taken += bytes.substr(0, cutter.feed(bytes));
    }
    EXPECT_TRUE(cutter.done());
    EXPECT_EQ(taken, conversation) << "in pieces of " << piece;
  }
}

TEST(FrameCutter, KnowsAFrameWithoutABody) {
  FrameCutter cutter(kMessageType<Finish>);
  const std::string frame = frame_bytes(Finish{}, 9);
  EXPECT_EQ(cutter.feed(frame + frame), frame.size());
  EXPECT_TRUE(cutter.done());
  EXPECT_EQ(cutter.feed("more"), 0u);
}

TEST(FrameCutter, NeverTakesMoreThanItIsGiven) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    FrameCutter cutter(kMessageType<Finish>);
    for (int piece = 0; piece < 20; ++piece) {
      std::string bytes(random() % 40, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : 0);
      const bool done = cutter.done();
      const std::size_t taken = cutter.feed(bytes);
      EXPECT_LE(taken, bytes.size());
      EXPECT_TRUE(!done || taken == 0u);
    }
  }
}

TEST(FrameCutter, GoesOnWithoutTheLastFrame) {
  FrameCutter cutter(kMessageType<Finish>);
  const std::string all = frames();
  EXPECT_EQ(cutter.feed(all), all.size());
  EXPECT_FALSE(cutter.done());
}

KeepRequest request_for(const std::string& user) {
  KeepRequest request;
  request.host.name = "node1";
  request.host.port = 2222;
  request.host.user = user;
  request.agent_path = "/opt/bin/dtagent";
  return request;
}

std::optional<KeepRequest> through_line(const KeepRequest& request) {
  const std::string line = to_line(request);
  EXPECT_EQ(line.back(), '\n');
  return parse_keep_request(line.substr(0, line.size() - 1));
}

TEST(KeepRequest, ComesBackAsItWasSent) {
  for (const char* user : {"", "alice"}) {
    const auto read = through_line(request_for(user));
    ASSERT_TRUE(read);
    EXPECT_TRUE(same_login(read->host, request_for(user).host));
    EXPECT_EQ(read->agent_path, "/opt/bin/dtagent");
  }
}

TEST(KeepRequest, OfAnotherVersionIsNoneExceptToLeave) {
  std::string line = to_line(request_for(""));
  line.replace(line.find(DTL_VERSION), 1, "9");
  EXPECT_FALSE(parse_keep_request(line.substr(0, line.size() - 1)));
  const auto down = parse_keep_request("DTLAUNCH-UP 9.9.9 down");
  ASSERT_TRUE(down);
  EXPECT_EQ(down->what, KeepRequest::What::kDown);
}

TEST(KeepRequest, RefusesWhatIsNone) {
  for (const char* line :
       {"", "GET / HTTP/1.1", "DTLAUNCH-UP", "DTLAUNCH-UP 0.1.0/2 agent a b c d"}) {
    EXPECT_FALSE(parse_keep_request(line)) << line;
  }
}

TEST(KeepRequest, TellsLoginsApart) {
  Host a, b;
  a.name = b.name = "n1";
  a.slots = 4;
  EXPECT_TRUE(same_login(a, b));
  b.user = "alice";
  EXPECT_FALSE(same_login(a, b));
}

}  // namespace
}  // namespace dtl::kept_connection_test
