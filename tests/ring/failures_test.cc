// How a rank combines reports: one failure, the same on all ranks.
#include "ring/engine/failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>

namespace dtl::ring::test::failures_test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// A rank in a world of three, whose control lines end in this test.
struct Rank {
  explicit Rank(int own) : rank(own), queue(3), executor(map, nullptr) {
    std::vector<ControlLine> ours;
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == own || (own != 0 && peer != 0)) continue;
      int ends[2] = {-1, -1};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      ours.push_back({peer, Fd(ends[0]), {}, true});
      others.push_back({peer, Fd(ends[1]), {}, true});
    }
    lines.emplace(std::move(ours));
    failures.emplace(own, names, *lines, executor, queue, [this] { ++ended; });
  }

  std::vector<Frame> heard_by(int peer) {
    std::vector<Frame> frames;
    for (ControlLine& line : others) {
      if (line.rank == peer) line.reader.read(line.channel, frames);
    }
    return frames;
  }
  int fd_to(int peer) const {
    for (const ControlLine& line : lines->all()) {
      if (line.rank == peer) return line.channel.fd();
    }
    return -1;
  }
  void hang_up(int peer) {
    for (ControlLine& line : others) {
      if (line.rank == peer) line.channel = {};
    }
  }
  void say(int peer, const Frame& frame) {
    for (ControlLine& line : others) {
      if (line.rank == peer) {
        EXPECT_TRUE(send_now(line.channel, encode(frame)));
      }
    }
  }

  int rank;
  NodeMap map = NodeMap::from_keys(rank, {"", "", ""});
  OperationQueue queue;
  Executor executor;
  std::vector<ControlLine> others;
  RankNames names{{"a", "b", ""}};
  std::optional<ControlLines> lines;
  std::optional<Failures> failures;
  int ended = 0;
};

TEST(Failures, AreToldToEverybodyOnce) {
  Rank leader(0);
  leader.failures->fail(DT_E_ABORTED, 1, "first");
  leader.failures->fail(DT_E_PEER, 2, "second");
  for (const int peer : {1, 2}) {
    const auto frames = leader.heard_by(peer);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].kind, FrameKind::kFail);
    EXPECT_EQ(frames[0].status, DT_E_ABORTED);
    EXPECT_EQ(frames[0].text, "first");
  }
  EXPECT_EQ(leader.ended, 1);
  EXPECT_EQ(leader.queue.error().text(), "first");
}

TEST(Failures, ThatOneRankTellsArePassedOnToTheOthersOnly) {
  Rank leader(0);
  leader.say(1, {FrameKind::kFail, DT_E_PEER, 2, 0, "rank 2 was lost"});
  EXPECT_TRUE(leader.failures->read(leader.fd_to(1)));
  EXPECT_TRUE(leader.failures->has_failed());
  EXPECT_TRUE(leader.heard_by(1).empty());
  ASSERT_EQ(leader.heard_by(2).size(), 1U);
}

TEST(Failures, NameARankWhoseLineEndsWithoutAWord) {
  Rank leader(0);
  leader.hang_up(1);
  EXPECT_FALSE(leader.failures->read(leader.fd_to(1)));
  EXPECT_THAT(leader.queue.error().text(), HasSubstr("rank 1 (b) was lost: connection closed"));
}

TEST(Failures, AreNoneWhenARankSaysGoodbye) {
  Rank leader(0);
  leader.say(1, {FrameKind::kBye, 0, 1, 7, {}});
  leader.hang_up(1);
  EXPECT_FALSE(leader.failures->read(leader.fd_to(1)));
  EXPECT_FALSE(leader.failures->has_failed());
  ASSERT_EQ(leader.heard_by(2).size(), 1U) << "the others hear of it";
}

TEST(Failures, OfADataLinkAreOnlyASuspicionForAMoment) {
  Rank rank(1);
  EXPECT_TRUE(rank.failures->suspicions().are_none());
  rank.failures->hear_of_break({2, 0});
  EXPECT_FALSE(rank.failures->has_failed());
  const auto deadline = rank.failures->suspicions().next_deadline();
  rank.failures->look_at_time(deadline - 1ms);
  EXPECT_FALSE(rank.failures->has_failed());
  rank.failures->look_at_time(deadline);
  EXPECT_THAT(rank.queue.error().text(), HasSubstr("rank 2 was lost: connection closed"));
}

TEST(Failures, AreWhatRankZeroSaysWhileALinkIsASuspicion) {
  Rank rank(1);
  rank.failures->hear_of_break({2, ECONNRESET});
  rank.say(0, {FrameKind::kFail, DT_E_ABORTED, 2, 0, "rank 2 aborted: it was told to"});
  EXPECT_TRUE(rank.failures->read(rank.fd_to(0)));
  rank.failures->look_at_time(rank.failures->suspicions().next_deadline());
  EXPECT_EQ(rank.queue.error().text(), "rank 2 aborted: it was told to");
}

TEST(Failures, DoNotComeOfALinkWhoseRankHasLeftInOrder) {
  Rank rank(1);
  rank.failures->hear_of_break({2, 0});
  rank.say(0, {FrameKind::kBye, 0, 2, 0, {}});
  EXPECT_TRUE(rank.failures->read(rank.fd_to(0)));
  rank.failures->look_at_time(rank.failures->suspicions().next_deadline());
  EXPECT_FALSE(rank.failures->has_failed());
  EXPECT_TRUE(rank.failures->suspicions().are_none());
}

// A link that is cut off but may still have data to read.
struct CutLink : Link {
  explicit CutLink(bool& ended) : has_been_read(ended) {}
  bool can_begin(Lane) const override { return false; }
  void begin(const FrameHead&, const OperationHeader*, const std::byte*, std::byte*) override {}
  bool step(Sink&) override { return false; }
  bool is_sent() const override { return true; }
  bool has_ended() const override { return has_been_read; }
  bool say_farewell(std::uint64_t) override { return true; }
  std::size_t frame_bytes(Lane, const std::byte*, const std::byte*, std::uint64_t) const override {
    return 4096;
  }
  bool& has_been_read;
};

TEST(Failures, OfARankThatHasLeftInOrderWaitUntilItsLastBytesWereRead) {
  Rank rank(1);
  bool has_been_read = false;
  rank.executor.add_link(2, std::make_unique<CutLink>(has_been_read));
  std::array<float, 4> values{};
  Request request;
  request.opcode = Opcode::kBroadcast;
  request.dtype = DT_F32;
  request.count = values.size();
  request.root = 2;
  request.in = request.out = reinterpret_cast<std::byte*>(values.data());
  Terms terms;
  terms.world = 3;
  terms.nodes = 3;
  dt_work work = 0;
  const Choice choice = choose(request, terms);
  ASSERT_EQ(rank.queue.submit(request, choice, &work), DT_OK);
  rank.executor.active().start(*rank.queue.take_submitted(choice.lane));
  rank.failures->hear_of_break({2, ECONNRESET});
  rank.failures->hear_of_farewell({2, 1});
  for (int i = 0; i < 100; ++i)
    rank.failures->look_at_time(rank.failures->suspicions().next_deadline());
  EXPECT_FALSE(rank.failures->has_failed()) << rank.queue.error().text();
  has_been_read = true;
  rank.failures->look_at_time(rank.failures->suspicions().next_deadline());
  EXPECT_THAT(rank.queue.error().text(), HasSubstr("rank 2 was lost: Connection reset by peer"));
}

struct IdleLink : CutLink {
  IdleLink(bool& ended, int& count, bool& wants) : CutLink(ended), steps(count), wanted(wants) {}
  bool step(Sink&) override { return ++steps > 1000; }
  bool wants_step() const override { return wanted; }
  int& steps;
  bool& wanted;
};

TEST(Executor, StepsOnlyLinksThatWantIt) {
  Rank rank(1);
  bool ended = false, wanted = true;
  int steps = 0;
  rank.executor.add_link(2, std::make_unique<IdleLink>(ended, steps, wanted));
  for (int i = 0; i < 3; ++i) rank.executor.step();
  EXPECT_EQ(steps, 3);
  wanted = false;
  for (int i = 0; i < 3; ++i) rank.executor.step();
  EXPECT_EQ(steps, 4);
  rank.executor.wake(2);
  rank.executor.wake(2);
  for (int i = 0; i < 3; ++i) rank.executor.step();
  EXPECT_EQ(steps, 5);
}

TEST(Failures, ComeAtOnceOfGarbage) {
  Rank rank(1);
  rank.failures->hear_of_break({2, EPROTO});
  EXPECT_THAT(rank.queue.error().text(), HasSubstr("rank 2 was lost: it sent garbage"));
}

TEST(Failures, OfChangedBytesAreNamedAlikeByBothEnds) {
  const char* const text = "what rank 2 sent to rank 1 (b) was changed on its way";
  Rank reader(1);
  reader.failures->hear_of_break({2, kAltered});
  EXPECT_THAT(reader.queue.error().text(), HasSubstr(text));
  Rank sender(2);
  sender.failures->hear_of_break({1, EPIPE});  // the reader has closed and said why
  sender.failures->hear_of_break({1, kRejected});
  sender.failures->look_at_time(sender.failures->suspicions().next_deadline());
  EXPECT_THAT(sender.queue.error().text(), HasSubstr(text));
}

TEST(Failures, IgnoreRanksThatDoNotExist) {
  Rank rank(1);
  rank.say(0, {FrameKind::kFail, DT_E_ABORTED, 3, 0, "who"});
  rank.say(0, {FrameKind::kFail, DT_E_ABORTED, -1, 0, "who"});
  EXPECT_TRUE(rank.failures->read(rank.fd_to(0)));
  EXPECT_FALSE(rank.failures->has_failed());
}

TEST(Failures, SayGoodbyeOnlyWhereNothingHasFailed) {
  Rank leader(0);
  leader.failures->say_goodbye({}, leader.executor);
  ASSERT_EQ(leader.heard_by(1).size(), 1U);
  Rank failed(0);
  failed.failures->fail(DT_E_ABORTED, 0, "it was told to");
  failed.heard_by(1);
  failed.failures->say_goodbye({}, failed.executor);
  EXPECT_TRUE(failed.heard_by(1).empty());
}

}  // namespace
}  // namespace dtl::ring::test::failures_test
