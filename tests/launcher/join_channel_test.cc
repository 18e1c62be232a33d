#include "launcher/join/join_channel.h"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "wire/fd_stream.h"

namespace dtl::join_channel_test {
namespace {

using namespace std::chrono_literals;
using Kind = JoinFrame::Kind;

// A channel with heartbeats, and the plain other end of its stream.
class Heartbeats : public ::testing::Test {
 protected:
  Heartbeats() {
    std::signal(SIGPIPE, SIG_IGN);
    SocketPair pair = make_socketpair(SOCK_STREAM);
    channel_ =
        std::make_shared<JoinChannel>(context_, make_fd_stream(context_, std::move(pair.first)));
    other_ = make_fd_stream(context_, std::move(pair.second));
    spawn(channel_->run_writer());
  }

  void spawn(awaitable<void> task) {
    asio::co_spawn(context_, std::move(task), [this](std::exception_ptr problem) {
      if (problem) problem_ = problem;
    });
  }

  // Receives until the stream ends.
  awaitable<void> receive_all() {
    try {
      while (auto frame = co_await channel_->receive()) received_.push_back(std::move(*frame));
    } catch (...) {
      problem_ = std::current_exception();
    }
    channel_->close();
    other_->close();
  }

  void say(const JoinFrame& frame) {
    spawn([](ByteStream& other, std::string bytes) -> awaitable<void> {
      co_await other.write(std::move(bytes));
    }(*other_, frame_bytes(frame)));
  }

  asio::io_context context_;
  std::shared_ptr<JoinChannel> channel_;
  std::unique_ptr<ByteStream> other_;
  std::vector<JoinFrame> received_;
  std::exception_ptr problem_;
};

TEST_F(Heartbeats, EndAChannelWhoseOtherSideFallsSilent) {
  say({Kind::kHere, "300"});
  say({Kind::kStop, {}});
  spawn(receive_all());
  spawn(channel_->run_heartbeats());
  context_.run_for(30s);
  EXPECT_TRUE(channel_->closed());
  EXPECT_TRUE(channel_->fell_silent());
  ASSERT_EQ(received_.size(), 1U);  // channel messages do not reach the caller
  EXPECT_EQ(received_[0].kind, Kind::kStop);
}

TEST_F(Heartbeats, AreSaidAndKeepAChannelOpen) {
  std::optional<JoinFrame> said;
  JoinFrameReader reader;
  spawn([](ByteStream& other, JoinFrameReader& frames,
           std::optional<JoinFrame>& first) -> awaitable<void> {
    while (!(first = frames.next())) frames.feed(co_await other.read());
  }(*other_, reader, said));
  say({Kind::kHere, "86400000"});
  spawn(receive_all());
  spawn(channel_->run_heartbeats());
  context_.run_for(2s);
  EXPECT_FALSE(channel_->closed());
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, Kind::kHere);
  EXPECT_EQ(said->text, "10000");
}

TEST_F(Heartbeats, EndNoChannelWhileSilenceIsExcused) {
  say({Kind::kHere, "1"});
  spawn(receive_all());
  bool excused = true;
  spawn(channel_->run_heartbeats([&] { return excused; }));
  context_.run_for(2500ms);
  EXPECT_FALSE(channel_->closed());
  excused = false;
  context_.run_for(30s);
  EXPECT_TRUE(channel_->fell_silent());
}

// If an agent's reader is slow, the other side is not silent.
TEST_F(Heartbeats, EndNoChannelThatIsNotRead) {
  say({Kind::kHere, "1"});
  say({Kind::kBytes, "for an agent that does not read"});
  spawn([](JoinChannel& channel, std::vector<JoinFrame>& received) -> awaitable<void> {
    if (auto frame = co_await channel.receive()) received.push_back(std::move(*frame));
  }(*channel_, received_));
  spawn(channel_->run_heartbeats());
  context_.run_for(2500ms);
  EXPECT_FALSE(channel_->closed());
  EXPECT_EQ(received_.size(), 1U);
}

TEST_F(Heartbeats, ThatAskForNoTimeAreGarbage) {
  say({Kind::kHere, "a day"});
  spawn(receive_all());
  context_.run_for(30s);
  ASSERT_TRUE(problem_);
  EXPECT_THROW(std::rethrow_exception(problem_), Error);
}

}  // namespace
}  // namespace dtl::join_channel_test
