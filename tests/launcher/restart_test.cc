#include "launcher/restart/restart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "launcher/session/epoch_end.h"
#include "tests/plan/invented_nodes.h"

namespace dtl::restart_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

EpochEnd ended(Cause cause, std::optional<JobTime> ran, int rank = -1, int status = 69) {
  EpochEnd end;
  end.outcome.cause = cause;
  end.outcome.rank = rank;
  end.outcome.node = 1;
  end.outcome.exit_status = status;
  end.ran = ran;
  return end;
}

EpochEnd exited(int rank, int status, std::optional<JobTime> ran, std::string last = {}) {
  EpochEnd end = ended(Cause::kRankExit, ran, rank, status);
  if (!last.empty()) end.last_words = {last};
  return end;
}

EpochEnd killed(int rank, int signal, std::optional<JobTime> ran = 60s) {
  EpochEnd end = ended(Cause::kRankSignal, ran, rank, 128 + signal);
  end.outcome.signal = signal;
  return end;
}

TEST(Restart, GoesOnAfterWhatMayBeTheMachinesFault) {
  for (const EpochEnd& end :
       {ended(Cause::kNodeLost, 60s), ended(Cause::kAgentFailed, 60s, -1, 71),
        ended(Cause::kUpEnded, 60s), killed(3, SIGSEGV), killed(3, SIGKILL), exited(3, 1, 60s),
        exited(3, 75, 1s), ended(Cause::kNodeLost, std::nullopt)}) {
    const RestartVerdict verdict = judge_restart(1, {end});
    EXPECT_TRUE(verdict.again) << cause_name(end.outcome.cause) << ": " << verdict.why;
    EXPECT_EQ(verdict.wait, 0s) << "the first time at once";
  }
}

TEST(Restart, IsNotForWhatTheUserOrTheJobItselfHasEnded) {
  for (const Cause cause : {Cause::kCompleted, Cause::kDryRun, Cause::kCannotStart, Cause::kTimeout,
                            Cause::kInterrupted, Cause::kOutputClosed, Cause::kStoppedSelf}) {
    const RestartVerdict verdict = judge_restart(3, {ended(cause, 60s)});
    EXPECT_FALSE(verdict.again) << cause_name(cause);
    EXPECT_EQ(verdict.why, "") << cause_name(cause);
  }
}

TEST(Restart, IsOffUnlessAskedFor) {
  const RestartVerdict verdict = judge_restart(0, {ended(Cause::kNodeLost, 60s)});
  EXPECT_FALSE(verdict.again);
  EXPECT_EQ(verdict.why, "");
}

TEST(Restart, SaysWhyAnotherTryWouldEndAlike) {
  EXPECT_THAT(judge_restart(3, {exited(1, 65, 60s)}).why, HasSubstr("status 65"));
  EXPECT_THAT(judge_restart(3, {ended(Cause::kSpawn, std::nullopt, 2, 127)}).why,
              HasSubstr("cannot be started"));
  EpochEnd no_room = ended(Cause::kCannotStart, std::nullopt, -1, 64);
  no_room.outcome.node = -1;
  EXPECT_THAT(judge_restart(3, {ended(Cause::kNodeLost, 60s), no_room}).why, HasSubstr("fit"));
  EpochEnd python = exited(2, 1, 1s);
  python.last_words = {"Traceback (most recent call last):", "ValueError: no column 'label'"};
  EXPECT_THAT(judge_restart(3, {python}).why, HasSubstr("rank 2 ended by a Python exception"));
  python.last_words = {"  File \"train.py\", line 3, in main", "ValueError"};  // only the end
  EXPECT_FALSE(judge_restart(3, {python}).again);
  python.ran = 11s;
  EXPECT_TRUE(judge_restart(3, {python}).again) << "after it had begun to train";
  python.ran = 1s;
  python.consequence = true;
  EXPECT_TRUE(judge_restart(3, {python}).again) << "it had lost another rank";
}

TEST(Restart, DoesNotTrustAStatusThatAnotherRanksEndHasCaused) {
  EpochEnd end = exited(1, 69, 60s);
  end.consequence = true;
  EXPECT_TRUE(judge_restart(1, {end}).again);
}

TEST(Restart, EndsWhenTheSameRankFailsInTheSameWay) {
  const EpochEnd first = exited(2, 1, 60s, "bad row 4711 at 0x7f00ab");
  EXPECT_THAT(judge_restart(9, {first, exited(2, 1, 90s, "bad row 4711 at 0x7e11cd")}).why,
              HasSubstr("rank 2 has failed in the same way twice"));
  EXPECT_TRUE(judge_restart(9, {first, exited(3, 1, 90s, "bad row 4711")}).again);
  EXPECT_TRUE(judge_restart(9, {first, exited(2, 1, 90s, "disk is full")}).again);
  EXPECT_TRUE(judge_restart(9, {first, exited(2, 2, 90s, "bad row 4711")}).again);
  EXPECT_FALSE(judge_restart(9, {killed(0, SIGSEGV), killed(0, SIGSEGV)}).again);
  EXPECT_TRUE(judge_restart(9, {killed(0, SIGSEGV), killed(1, SIGSEGV), killed(0, SIGSEGV)}).again)
      << "not one after the other";
}

TEST(Restart, TakesAKillFromOutsideForNoFailureOfTheProgram) {
  EXPECT_TRUE(judge_restart(9, {killed(0, SIGKILL), killed(0, SIGKILL)}).again);
  EpochEnd starved = killed(0, SIGKILL);
  starved.out_of_memory = true;
  EXPECT_FALSE(judge_restart(9, {starved, starved}).again);
  EXPECT_TRUE(judge_restart(9, {starved, killed(0, SIGKILL)}).again) << "killed for another reason";
}

TEST(Restart, EndsWithItsNumber) {
  std::vector<EpochEnd> ends;
  for (int i = 0; i <= 3; ++i) {
    ends.push_back(killed(i, SIGSEGV));
    EXPECT_EQ(judge_restart(3, ends).again, i < 3) << i;
  }
  EXPECT_EQ(judge_restart(3, ends).why, "--max-restarts 3");
}

TEST(Restart, BacksOffWhereRanksFailAtOnce) {
  std::vector<EpochEnd> ends = {killed(0, SIGKILL, 60s)};
  const std::vector<JobTime> waits = {0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s};
  for (const JobTime wait : waits) {
    ends.push_back(killed(0, SIGKILL, 100ms));
    EXPECT_EQ(judge_restart(100, ends).wait, wait) << ends.size();
  }
  ends.push_back(killed(0, SIGKILL, 60s));
  EXPECT_EQ(judge_restart(100, ends).wait, 0s) << "it ran well in between";
}

TEST(Restart, GoesOnWhenASpareHostDoesNotComeUp) {
  const EpochEnd absent = ended(Cause::kCannotStart, std::nullopt);
  EXPECT_TRUE(judge_restart(3, {ended(Cause::kNodeLost, 60s), absent}).again);
  EXPECT_FALSE(judge_restart(1, {ended(Cause::kNodeLost, 60s), absent}).again);
}

TEST(DecidingEpoch, IsTheFirstOfThoseThatFailedOneRightAfterTheOther) {
  const EpochEnd lost = ended(Cause::kNodeLost, 3600s);
  const EpochEnd quick = exited(1, 3, 100ms);
  EXPECT_EQ(deciding_epoch({quick}), 0u);
  EXPECT_EQ(deciding_epoch({lost, quick, quick}), 0u);
  EXPECT_EQ(deciding_epoch({quick, lost, quick}), 1u);
  EXPECT_EQ(deciding_epoch({lost, lost}), 1u);
  EXPECT_EQ(deciding_epoch({quick, ended(Cause::kCompleted, std::nullopt)}), 1u);
  EXPECT_EQ(deciding_epoch({quick, ended(Cause::kInterrupted, 1s)}), 1u);
  EXPECT_EQ(deciding_epoch({lost, ended(Cause::kCannotStart, std::nullopt)}), 0u);
}

// Why a restart on these hosts is refused, after an epoch on n1, n2 and n3 with two cores each.
std::string why_not_on(const std::vector<Host>& left, std::optional<int> ranks) {
  SessionResult ended;
  for (const char* name : {"n1", "n2", "n3"}) {
    ended.hosts.emplace_back().name = name;
    ended.facts.emplace_back(invented_node(1, 2));
  }
  ended.facts[2].reset();  // it never came up
  Request next;
  next.hosts = left;
  next.placement.ranks = ranks;
  return why_ranks_do_not_fit(next, ended);
}

TEST(EpochEnd, KnowsBeforehandWhetherTheRanksFitTheHostsThatAreLeft) {
  Host n1, n2, n3, spare;
  n1.name = "n1";
  n2.name = "n2";
  n3.name = "n3";
  spare.name = "spare";
  EXPECT_EQ(why_not_on({n1, n2}, 4), "");
  EXPECT_EQ(why_not_on({n1}, 4), "-np 4: needs 2 more slots: 1 host offers 2");
  n2.slots = 1;
  EXPECT_EQ(why_not_on({n1, n2}, 4), "-np 4: needs 1 more slot: 2 hosts offer 3");
  EXPECT_EQ(why_not_on({n1, spare}, 4), "");  // its size is unknown
  EXPECT_EQ(why_not_on({n1, n3}, 4), "");
  EXPECT_EQ(why_not_on({}, 4), "");  // on this machine, as before
}

}  // namespace
}  // namespace dtl::restart_test
