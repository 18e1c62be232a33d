#include "launcher/job/rank_watch.h"

#include <gmock/gmock.h>

#include <chrono>

#include "launcher/job/native_frames.h"
#include "launcher/job/slow_hosts.h"

namespace dtl::rank_watch_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kAllreduce = 1;

// Ranks' reports once per second, as from agents.
class RankWatchTest : public testing::Test {
 protected:
  struct Now {
    std::uint64_t begun = 0, completed = 0, bytes = 0;
    Activity activity = Activity::kSleeps;
    bool has_comm = true;
    std::uint64_t id = 7;
  };
  void pass(int seconds, const std::vector<Now>& ranks) {
    for (int i = 0; i < seconds; ++i) {
      now_ += 1s;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) tell(rank, ranks);
      watch_.look(now_);
    }
  }
  void tell(std::size_t rank, const std::vector<Now>& ranks) {
    const Now& now = ranks[rank];
    RankReport report;
    report.rank = static_cast<std::uint32_t>(rank);
    report.pid = 100 + report.rank;
    report.activity = now.activity;
    if (now.has_comm) {
      CommState state;
      state.id = now.id;
      for (std::size_t other = 0; other < ranks.size(); ++other) {
        if (!ranks[other].has_comm || ranks[other].id != now.id) continue;
        state.rank += other < rank ? 1 : 0;
        ++state.world;
      }
      state.begun = now.begun;
      state.opcode = kAllreduce;
      state.completed = now.completed;
      state.bytes = now.bytes;
      report.comms = {state};
    }
    watch_.report(report, now_);
  }
  std::vector<std::string> said(JobTime after = 30s) {
    std::vector<std::string> texts;
    for (const HangFinding& finding : watch_.untold(after)) texts.push_back(finding.text);
    return texts;
  }

  RankWatch watch_;
  JobTime now_{0};
};

TEST_F(RankWatchTest, NamesOnceWhoHasNotEnteredWithWhatItDoes) {
  const std::vector<Now> ranks = {{5, 4}, {4, 4, 0, Activity::kComputes}, {5, 4}};
  pass(30, ranks);
  EXPECT_THAT(said(), IsEmpty());  // seen waiting for 29 s
  pass(1, ranks);
  EXPECT_THAT(said(), ElementsAre("rank 1 has not entered the allreduce in which ranks 0,2 have "
                                  "waited for 30 s: it computes (process 101)"));
  pass(60, ranks);
  EXPECT_THAT(said(), IsEmpty());
  const auto hang = watch_.hang(60s, 3);
  ASSERT_TRUE(hang);
  EXPECT_THAT(hang->odd, ElementsAre(1));
  EXPECT_THAT(hang->waiting, ElementsAre(0, 2));
}

TEST_F(RankWatchTest, SaysThatItGoesOnOnlyOfWhatItHadNamed) {
  pass(40, {{5, 4}, {4, 4}});
  ASSERT_THAT(said(), testing::SizeIs(1));
  pass(1, {{6, 5}, {5, 5}});
  EXPECT_THAT(said(), ElementsAre(HasSubstr("goes on after 40 s")));
  pass(20, {{8, 7}, {7, 7}});
  pass(1, {{8, 8}, {8, 8}});
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankWatchTest, AnEvaluationOnRankZeroIsNoHangWhileItIsShorter) {
  for (std::uint64_t round = 1; round < 10; ++round) {
    pass(25, {{10 * round, 10 * round, 0, Activity::kComputes}, {10 * round + 1, 10 * round}});
    pass(2, {{10 * round + 5, 10 * round + 5}, {10 * round + 5, 10 * round + 5}});
    EXPECT_THAT(said(), IsEmpty());
  }
  EXPECT_FALSE(watch_.hang(26s, 2));
}

TEST_F(RankWatchTest, StepsOfAnyLengthThatMakeProgressAreNoHang) {
  for (std::uint64_t step = 1; step < 100; ++step) {
    pass(7, {{step + 1, step, step}, {step, step, step, Activity::kComputes}, {step + 1, step}});
  }
  EXPECT_THAT(said(10s), IsEmpty());
  EXPECT_FALSE(watch_.hang(10s, 3));
}

TEST_F(RankWatchTest, WhoRunsAheadInCollectivesThatNeedNotWaitIsNotWaiting) {
  pass(60, {{9, 9}, {4, 4, 0, Activity::kComputes}});
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_FALSE(watch_.hang(30s, 2));
}

TEST_F(RankWatchTest, AStoppedRankIsTheOddOneWhereAllHaveEntered) {
  pass(40, {{5, 4}, {5, 4, 0, Activity::kStopped}, {5, 4}});
  EXPECT_THAT(said(), ElementsAre("ranks 0,2 have waited in the same allreduce for 38 s, and no "
                                  "data moves; rank 1 is stopped (process 101)"));
  EXPECT_THAT(watch_.hang(30s, 3)->odd, ElementsAre(1));
}

TEST_F(RankWatchTest, DataThatMovesIsProgress) {
  for (std::uint64_t second = 0; second < 100; ++second) pass(1, {{5, 4, second}, {5, 4, second}});
  EXPECT_THAT(said(), IsEmpty());
  pass(40, {{5, 4, 100}, {5, 4, 100}});
  EXPECT_THAT(said(), ElementsAre(HasSubstr("no data moves")));
}

TEST_F(RankWatchTest, RanksThatSwapAreNamedAndEndNothing) {
  pass(100, {{5, 4}, {4, 4, 0, Activity::kSwaps}});
  EXPECT_THAT(said(), ElementsAre(HasSubstr("it swaps")));
  EXPECT_FALSE(watch_.hang(30s, 2));
}

TEST_F(RankWatchTest, OneRankAloneAndRanksThatHaveEndedAreNotWaitedFor) {
  pass(60, {{5, 4, 0, Activity::kComputes}});
  EXPECT_THAT(said(), IsEmpty());
  pass(20, {{5, 4}, {4, 4}});
  watch_.forget(1);
  for (int i = 0; i < 60; ++i) {
    now_ += 1s;
    watch_.look(now_);
  }
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankWatchTest, CommunicatorsOfSubgroupsAreLookedAtEachForItself) {
  std::vector<Now> ranks(4);
  ranks[0].id = ranks[1].id = 1;
  ranks[2].id = ranks[3].id = 2;
  ranks[0] = {90, 90, 0, Activity::kComputes, true, 1};
  ranks[1] = {90, 90, 0, Activity::kComputes, true, 1};
  ranks[2] = {5, 4, 0, Activity::kSleeps, true, 2};
  ranks[3] = {4, 4, 0, Activity::kWaitsForDisk, true, 2};
  pass(40, ranks);
  EXPECT_THAT(said(), ElementsAre("rank 3 has not entered the allreduce in which rank 2 has waited "
                                  "for 39 s: it waits for a disk (process 103)"));
}

TEST_F(RankWatchTest, TimeInWhichNobodyCouldRunDoesNotCount) {
  const std::vector<Now> ranks = {{5, 4}, {4, 4}};
  pass(20, ranks);
  now_ += 1h;  // suspended with ^Z
  watch_.excuse(now_);
  pass(20, ranks);
  EXPECT_THAT(said(), IsEmpty());
  pass(11, ranks);
  EXPECT_THAT(said(), testing::SizeIs(1));
}

TEST_F(RankWatchTest, AnAgentThatTellsNothingProvesNothing) {
  const std::vector<Now> ranks = {{5, 4}, {4, 4}};
  pass(10, ranks);
  for (int i = 0; i < 60; ++i) {  // rank 1 is silent
    now_ += 1s;
    tell(0, ranks);
    watch_.look(now_);
  }
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_FALSE(watch_.hang(30s, 2));
}

TEST_F(RankWatchTest, OfOtherProgramsItKnowsWhoIsStoppedAndThatNobodyDoesAnything) {
  Now computes, sleeps, stopped;
  computes.has_comm = sleeps.has_comm = stopped.has_comm = false;
  computes.activity = Activity::kComputes;
  stopped.activity = Activity::kStopped;
  pass(100, {computes, sleeps});
  EXPECT_FALSE(watch_.hang(30s, 2));
  pass(40, {sleeps, sleeps});
  EXPECT_FALSE(watch_.hang(30s, 3));  // one rank has not reported
  EXPECT_EQ(watch_.hang(30s, 2)->text, "no rank has done anything for 30 s");
  pass(40, {computes, stopped});
  EXPECT_EQ(watch_.hang(30s, 2)->text, "rank 1 has been stopped for 39 s");
}

// Windows of reports. shares: how often each of two ranks, on different nodes, is in a collective.
std::vector<std::string> slow(std::vector<std::pair<std::uint32_t, std::uint32_t>> windows,
                              std::uint64_t steps = 100) {
  SlowHosts hosts;
  std::vector<std::string> named;
  std::uint64_t completed = 0;
  for (const auto& [first, second] : windows) {
    for (int part = 0; part < 3; ++part) {
      completed += steps / 3 + 1;
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        CommState state;
        state.id = 7;
        state.rank = rank;
        state.world = 2;
        state.completed = completed;
        state.looks = 100;
        state.waits = rank == 0 ? first : second;
        RankReport report;
        report.rank = rank;
        report.comms = {state};
        hosts.report(report, static_cast<int>(rank));
      }
      if (const auto found = hosts.look())
        named.push_back(std::to_string(found->node) + found->text);
    }
  }
  return named;
}

TEST(SlowHosts, NamesOnceWhoComputesLongerInTwoWindows) {
  EXPECT_THAT(slow({{60, 10}, {60, 10}, {60, 10}, {60, 10}}),
              ElementsAre("1slow: its ranks compute 2.2 times as long per step as those of the "
                          "other hosts, which spend 60 % of their time in collectives, and this "
                          "one 10 %"));
}

TEST(SlowHosts, KeepsQuietOverWhatComesAndGoesOrIsNoStep) {
  EXPECT_THAT(slow({{60, 10}}), IsEmpty());
  EXPECT_THAT(slow({{60, 10}, {30, 28}, {60, 10}, {30, 28}}), IsEmpty());
  EXPECT_THAT(slow({{60, 10}, {10, 60}, {60, 10}, {10, 60}}), IsEmpty());
  EXPECT_THAT(slow({{30, 20}, {30, 20}, {30, 20}}), IsEmpty());
  EXPECT_THAT(slow({{60, 10}, {60, 10}, {60, 10}}, 0), IsEmpty());  // a hang
}

TEST(NativeFrames, AreTheFirstThreadsFunctionsOfGdbAndEuStack) {
  EXPECT_THAT(native_frames("Thread 1 (LWP 7):\n"
                            "#0  0x00007f12ab in epoll_wait (epfd=7) from /lib/libc.so.6\n"
                            "#1  dtl::ring::take (this=0x1)\n#12 main () at a.c:3\n\n"
                            "Thread 2 (LWP 8):\n#0  0x00 in poll ()\n"),
              ElementsAre("epoll_wait", "dtl::ring::take", "main"));
  EXPECT_THAT(native_frames("PID 7 - process\nTID 7:\n#0  0x00007f12ab epoll_wait\n"
                            "#1  0x000055aa - 1 main\n"),
              ElementsAre("epoll_wait", "main"));
  EXPECT_THAT(native_frames("ptrace: Operation not permitted.\n"), IsEmpty());
}

}  // namespace
}  // namespace dtl::rank_watch_test
