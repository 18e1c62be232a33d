// RankOutput cuts what it reads between lines, as far as there are any, and holds nothing back that
// a user may wait for.
#include <gtest/gtest.h>
#include <sys/ioctl.h>
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
  // The frames for `pieces`, which the rank writes one after the other. It ends once `awaited`
  // bytes have come. The launcher returns credit as soon as the rank has written everything.
  std::vector<std::string> frames_of(const std::vector<std::string>& pieces, std::size_t awaited) {
    TaskGroup tasks(context_);
    tasks.spawn(forward());
    tasks.spawn(write_frames());
    tasks.spawn(write_pieces(pieces, awaited));
    tasks.spawn(receive(awaited));
    context_.run_for(std::chrono::seconds(20));
    return frames_;
  }

  awaitable<void> forward() {
    RankOutput output(agent_, *credit_, 0, Stream::kStdout, nullptr);
    co_await output.forward(context_, std::move(pipe_.read_end));
    agent_.finish();
  }

  awaitable<void> write_frames() {
    co_await agent_.run_writer();
    agent_.close();
  }

  // The next piece follows once the agent has read this one, or waits for credit.
  awaitable<void> write_pieces(const std::vector<std::string>& pieces, std::size_t awaited) {
    std::size_t written = 0;
    for (const std::string& piece : pieces) {
      EXPECT_EQ(::write(pipe_.write_end.get(), piece.data(), piece.size()), ssize_t(piece.size()));
      while (written < window_ && !is_pipe_empty()) co_await asio::post(asio::use_awaitable);
      written += piece.size();
    }
    // What the agent sends now, it sends in frames of their own, not gathered with what follows.
    for (int turn = 0; turn < 100; ++turn) co_await asio::post(asio::use_awaitable);
    gives_credit_ = true;
    give_credit();
    if (awaited == 0) pipe_.write_end.reset();
  }

  bool is_pipe_empty() const {
    int bytes = 0;
    return ::ioctl(pipe_.write_end.get(), FIONREAD, &bytes) == 0 && bytes == 0;
  }

  awaitable<void> receive(std::size_t awaited) {
    std::size_t come = 0;
    while (auto message = co_await launcher_.receive()) {
      frames_.push_back(std::get<Output>(*message).bytes);
      come += frames_.back().size();
      shown_ += frames_.back().size();
      if (gives_credit_) give_credit();
      if (come >= awaited) pipe_.write_end.reset();
    }
    launcher_.close();
  }

  void give_credit() { credit_->give_back(std::exchange(shown_, 0)); }

  void set_window(std::uint32_t bytes) {
    window_ = bytes;
    credit_.emplace(context_, agent_, OutputRules{bytes, kHoldForever, ""});
  }

  asio::io_context context_;
  SocketPair line_ = make_socketpair(SOCK_STREAM);
  Connection agent_{context_, make_fd_stream(context_, std::move(line_.first)), ""};
  Connection launcher_{context_, make_fd_stream(context_, std::move(line_.second)), ""};
  std::uint32_t window_ = 256 << 10;
  std::optional<RankCredit> credit_{std::in_place, context_, agent_,
                                    OutputRules{256 << 10, kHoldForever, ""}};
  Pipe pipe_ = make_pipe();
  bool gives_credit_ = false;
  std::size_t shown_ = 0;  // bytes without credit yet
  std::vector<std::string> frames_;
};

std::string joined(const std::vector<std::string>& frames) {
  std::string text;
  for (const std::string& frame : frames) text += frame;
  return text;
}

// About this many bytes.
std::vector<std::string> lines(std::size_t bytes) {
  std::vector<std::string> all;
  for (std::size_t size = 0; size + 80 < bytes; size += all.back().size()) {
    all.push_back("step " + std::to_string(all.size()) + std::string(60, '.') + "\n");
  }
  return all;
}

TEST_F(RankOutputTest, CutsBetweenLines) {
  const std::string text = joined(lines(60 << 10));
  const auto frames = frames_of({text}, 0);
  EXPECT_EQ(joined(frames), text);
  ASSERT_GT(frames.size(), 1U);
  for (const std::string& frame : frames) EXPECT_EQ(frame.back(), '\n') << frame.size();
}

// The last line before the window is used up waits for credit instead of being cut.
TEST_F(RankOutputTest, CutsBetweenLinesWhereCreditEnds) {
  set_window(3000);
  const std::vector<std::string> text = lines(4000);
  EXPECT_EQ(joined(frames_of(text, joined(text).size())), joined(text));
  ASSERT_GT(frames_.size(), 1U);
  for (const std::string& frame : frames_) EXPECT_EQ(frame.back(), '\n') << frame.size();
}

TEST_F(RankOutputTest, SendsALineThatIsLongerThanTheWindow) {
  set_window(3000);
  const std::string text = "a\n" + std::string(10'000, 'x') + "\nb\n";
  EXPECT_EQ(joined(frames_of({text}, text.size())), text);
}

TEST_F(RankOutputTest, SendsAPromptThatFillsTheBuffer) {
  std::string text = joined(lines(kFirstRead - 500));
  text += std::string(kFirstRead - text.size(), '?');
  EXPECT_EQ(joined(frames_of({text}, text.size())), text);
}

TEST_F(RankOutputTest, SendsAPromptBehindALineThatWasHeld) {
  const std::string text = joined(lines(kFirstRead + 3000)) + "Continue? ";
  EXPECT_EQ(joined(frames_of({text}, text.size())), text);
}

TEST_F(RankOutputTest, SendsLongLinesInPieces) {
  const std::string text = "a\n" + std::string(60 << 10, 'x');
  const auto frames = frames_of({text}, text.size());
  EXPECT_EQ(joined(frames), text);
  EXPECT_EQ(frames.front().size(), kFirstRead);
}

class RankOutputEnd : public RankOutputTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(RankOutputEnd, LosesNothing) {
  const std::string text = joined(lines(kFirstRead)) + std::string(GetParam(), 'e');
  EXPECT_EQ(joined(frames_of({text}, 0)), text);
}

INSTANTIATE_TEST_SUITE_P(WithALastLineOf, RankOutputEnd,
                         testing::Values(0U, 1U, 79U, 4096U, 5000U));

}  // namespace
}  // namespace dtl::rank_output_test
