// RankOutput cuts what it reads between lines, as far as there are any, and holds nothing back that
// a user may wait for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "agent/job/output.h"
#include "base/fd.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"

namespace dtl::rank_output_test {
namespace {

constexpr std::size_t kFirstRead = 20 << 10;  // of a pipe: see ReadRoom

class RankOutputTest : public testing::Test {
 protected:
  // The frames for what is in the pipe now; it is closed once `awaited` bytes have come.
  std::vector<std::string> frames_of(const std::string& text, std::size_t awaited) {
    asio::io_context context;
    SocketPair line = make_socketpair(SOCK_STREAM);
    Connection agent(context, make_fd_stream(context, std::move(line.first)), "");
    Connection launcher(context, make_fd_stream(context, std::move(line.second)), "");
    RankCredit credit(context, agent, OutputRules{256 << 10, kHoldForever, ""});
    RankOutput output(agent, credit, 0, Stream::kStdout, nullptr);
    Pipe pipe = make_pipe();
    EXPECT_EQ(::write(pipe.write_end.get(), text.data(), text.size()), ssize_t(text.size()));
    if (awaited == 0) pipe.write_end.reset();
    std::vector<std::string> frames;
    const auto send = [&]() -> awaitable<void> {
      co_await output.forward(context, std::move(pipe.read_end));
      agent.finish();
    };
    const auto write = [](Connection& connection) -> awaitable<void> {
      co_await connection.run_writer();
      connection.close();
    };
    const auto receive = [&]() -> awaitable<void> {
      std::size_t come = 0;
      while (auto message = co_await launcher.receive()) {
        frames.push_back(std::get<Output>(*message).bytes);
        come += frames.back().size();
        if (come >= awaited) pipe.write_end.reset();
      }
      launcher.close();
    };
    TaskGroup tasks(context);
    tasks.spawn(send());
    tasks.spawn(write(agent));
    tasks.spawn(receive());
    context.run_for(std::chrono::seconds(20));
    return frames;
  }
};

std::string joined(const std::vector<std::string>& frames) {
  std::string text;
  for (const std::string& frame : frames) text += frame;
  return text;
}

std::string lines(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() + 80 < bytes; ++i) {
    text += "step " + std::to_string(i) + std::string(60, '.') + "\n";
  }
  return text;
}

TEST_F(RankOutputTest, CutsBetweenLines) {
  const std::string text = lines(60 << 10);
  const auto frames = frames_of(text, 0);
  EXPECT_EQ(joined(frames), text);
  ASSERT_GT(frames.size(), 1U);
  for (const std::string& frame : frames) EXPECT_EQ(frame.back(), '\n') << frame.size();
}

TEST_F(RankOutputTest, SendsAPromptThatFillsTheBuffer) {
  std::string text = lines(kFirstRead - 500);
  text += std::string(kFirstRead - text.size(), '?');
  EXPECT_EQ(joined(frames_of(text, text.size())), text);
}

TEST_F(RankOutputTest, SendsAPromptBehindALineThatWasHeld) {
  const std::string text = lines(kFirstRead + 3000) + "Continue? ";
  EXPECT_EQ(joined(frames_of(text, text.size())), text);
}

TEST_F(RankOutputTest, SendsLongLinesInPieces) {
  const std::string text = "a\n" + std::string(60 << 10, 'x');
  const auto frames = frames_of(text, text.size());
  EXPECT_EQ(joined(frames), text);
  EXPECT_EQ(frames.front().size(), kFirstRead);
}

TEST_F(RankOutputTest, LosesNothingAtTheEnd) {
  for (const std::size_t more : {0, 1, 79, 4096, 5000}) {
    const std::string text = lines(kFirstRead) + std::string(more, 'e');
    EXPECT_EQ(joined(frames_of(text, 0)), text) << more;
  }
}

}  // namespace
}  // namespace dtl::rank_output_test
