#include "agent/job/supervisor.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/limits.h"

namespace dtl::supervisor_test {
namespace {

// Drives the state machine by hand; time is a number of milliseconds.
struct Bench {
  Supervisor supervisor;
  BootTime at{100000};

  Bench() { supervisor.heard = at; }
  std::vector<Effect> feed(const Event& event) { return step(supervisor, event, at); }
  void start(std::uint32_t rank) {
    Start start;
    start.ranks.emplace_back().rank = rank;
    feed(start);
    feed(report(GuardNews::kStarted, rank));
  }
  static GuardReport report(GuardNews news, std::uint32_t rank = 0) {
    GuardReport report;
    report.news = news;
    report.rank = rank;
    return report;
  }
};

template <class E>
const E* find(const std::vector<Effect>& effects) {
  for (const Effect& effect : effects) {
    if (const E* found = std::get_if<E>(&effect)) return found;
  }
  return nullptr;
}

template <class M>
const M* sent(const std::vector<Effect>& effects) {
  for (const Effect& effect : effects) {
    const auto* send = std::get_if<SendMessage>(&effect);
    if (send != nullptr && std::holds_alternative<M>(send->message)) {
      return &std::get<M>(send->message);
    }
  }
  return nullptr;
}

// A guard does not answer while it starts or ends many ranks.
TEST(Supervisor, IsAsPatientWithAGuardAsItHasRanks) {
  Bench bench;
  bench.start(0);
  EXPECT_LT(guard_patience(bench.supervisor), BootTime(kGuardLease));
  Start start;
  for (std::uint32_t rank = 1; rank < 2222; ++rank) start.ranks.emplace_back().rank = rank;
  bench.feed(start);
  EXPECT_GE(guard_patience(bench.supervisor), BootTime(30000));
  bench.feed(Kill{});
  EXPECT_EQ(guard_patience(bench.supervisor), kReapDeadline + kAnswerMargin);
}

TEST(Supervisor, StopSignalsThenKillsAfterTheGrace) {
  Bench bench;
  bench.start(0);
  const auto stopping = bench.feed(Stop{SIGTERM, 700});
  ASSERT_NE(find<SignalRanks>(stopping), nullptr);
  EXPECT_EQ(find<KillByGuard>(stopping), nullptr);
  EXPECT_EQ(due(bench.supervisor), bench.at + BootTime(700));
  bench.at += BootTime(699);
  EXPECT_TRUE(bench.feed(TimePassed{}).empty());
  bench.at += BootTime(1);
  EXPECT_NE(find<KillByGuard>(bench.feed(TimePassed{})), nullptr);
  EXPECT_EQ(bench.supervisor.state, AgentState::kKilling);
}

TEST(Supervisor, ASecondStopShortensTheGraceWithoutAnotherSignal) {
  Bench bench;
  bench.start(0);
  EXPECT_EQ(find<SignalRanks>(bench.feed(Stop{SIGTERM, 60'000}))->signal, SIGTERM);
  bench.at += BootTime(100);
  const auto hurried = bench.feed(Stop{0, 500});
  ASSERT_NE(find<SignalRanks>(hurried), nullptr);
  EXPECT_EQ(find<SignalRanks>(hurried)->signal, 0);
  EXPECT_EQ(find<SignalRanks>(hurried)->grace, BootTime(500));
  EXPECT_EQ(due(bench.supervisor), bench.at + BootTime(500));
}

TEST(Supervisor, AsksBeforeItStopsWhenToldTo) {
  Bench bench;
  bench.start(0);
  const auto asking = bench.feed(Stop{SIGTERM, 700, 500});
  ASSERT_NE(find<AskRanks>(asking), nullptr);
  EXPECT_EQ(find<AskRanks>(asking)->patience_ms, 500u);
  EXPECT_EQ(find<SignalRanks>(asking), nullptr);
  Start more;
  more.ranks.emplace_back().rank = 1;
  EXPECT_NE(sent<SpawnFailed>(bench.feed(more)), nullptr);
  bench.at += BootTime(300);
  EXPECT_NE(find<SignalRanks>(bench.feed(RanksAnswered{})), nullptr);
  EXPECT_EQ(due(bench.supervisor), bench.at + BootTime(700)) << "the grace begins here";
  EXPECT_TRUE(bench.feed(RanksAnswered{}).empty());
}

TEST(Supervisor, StopsThoughNobodySaysThatTheAskingIsOver) {
  Bench bench;
  bench.start(0);
  bench.feed(Stop{SIGTERM, 700, 500});
  EXPECT_EQ(due(bench.supervisor), bench.at + BootTime(500) + kHeartbeat);
  bench.at = due(bench.supervisor);
  EXPECT_NE(find<SignalRanks>(bench.feed(TimePassed{})), nullptr);
}

TEST(Supervisor, AsksNoLongerWhenItIsToStopAtOnce) {
  for (const Event& event : {Event(Stop{}), Event(Kill{}), Event(Finish{}), Event(LauncherGone{}),
                             Event(Bench::report(GuardNews::kExited))}) {
    Bench bench;
    bench.start(0);
    bench.feed(Stop{SIGTERM, 700, 500});
    const auto effects = bench.feed(event);
    EXPECT_TRUE(find<SignalRanks>(effects) != nullptr || find<KillByGuard>(effects) != nullptr);
    EXPECT_NE(bench.supervisor.state, AgentState::kAsking);
  }
}

TEST(Supervisor, AsksNobodyWhereNobodyRuns) {
  Bench bench;
  EXPECT_EQ(find<AskRanks>(bench.feed(Stop{SIGTERM, 700, 500})), nullptr);
  Bench stopping;
  stopping.start(0);
  stopping.feed(Stop{SIGTERM, 700});
  EXPECT_EQ(find<AskRanks>(stopping.feed(Stop{SIGTERM, 700, 500})), nullptr);
}

TEST(Supervisor, ASecondStopMayOnlyShortenTheGrace) {
  Bench bench;
  bench.start(0);
  bench.feed(Stop{SIGTERM, 1000});
  bench.feed(Stop{SIGTERM, 5000});
  EXPECT_EQ(bench.supervisor.grace_ends, bench.at + BootTime(1000));
  bench.feed(Stop{SIGTERM, 10});
  EXPECT_EQ(bench.supervisor.grace_ends, bench.at + BootTime(10));
}

TEST(Supervisor, DoesNotWaitForTheGraceOnceAllRanksHaveEnded) {
  Bench bench;
  bench.start(0);
  bench.feed(Stop{SIGTERM, 5000});
  EXPECT_NE(find<KillByGuard>(bench.feed(Bench::report(GuardNews::kExited))), nullptr);
}

TEST(Supervisor, TellsAnExitAfterItsOutput) {
  Bench bench;
  bench.start(0);
  EXPECT_EQ(sent<Exited>(bench.feed(Bench::report(GuardNews::kExited))), nullptr);
  EXPECT_NE(sent<Exited>(bench.feed(OutputEnded{0})), nullptr);
}

TEST(Supervisor, TellsAnExitAfterASecondEvenWhenAPipeStaysOpen) {
  Bench bench;
  bench.start(0);
  bench.feed(Bench::report(GuardNews::kExited));
  EXPECT_EQ(due(bench.supervisor), bench.at + kDrainDeadline);
  bench.at += kDrainDeadline;
  EXPECT_NE(sent<Exited>(bench.feed(TimePassed{})), nullptr);
}

TEST(Supervisor, FinishKillsAnswersAndExits) {
  Bench bench;
  bench.start(0);
  EXPECT_NE(find<KillByGuard>(bench.feed(Finish{})), nullptr);
  bench.feed(Bench::report(GuardNews::kExited));
  GuardReport clean = Bench::report(GuardNews::kClean);
  clean.killed = 3;
  EXPECT_EQ(sent<Finished>(bench.feed(clean)), nullptr);  // rank 0's output is incomplete
  const auto last = bench.feed(OutputEnded{0});
  ASSERT_NE(sent<Finished>(last), nullptr);
  EXPECT_EQ(sent<Finished>(last)->killed, 3u);
  EXPECT_EQ(find<ExitAgent>(last)->status, Exit::kOk);
}

TEST(Supervisor, RefusesRanksAfterStopAndAfterKill) {
  for (const Event& event : {Event(Stop{}), Event(Kill{}), Event(LauncherGone{})}) {
    Bench bench;
    bench.feed(event);
    Start start;
    start.ranks.emplace_back();
    const auto effects = bench.feed(start);
    EXPECT_EQ(find<SpawnRank>(effects), nullptr);
    ASSERT_NE(sent<SpawnFailed>(effects), nullptr);
    EXPECT_EQ(sent<SpawnFailed>(effects)->stage, "stopped");
  }
}

TEST(Supervisor, EndsTheRanksWhenTheLeaseRunsOut) {
  Bench bench;
  bench.start(0);
  bench.at += kLease - BootTime(1);
  bench.feed(LauncherHeard{});
  bench.at += kLease - BootTime(1);
  EXPECT_EQ(find<SignalRanks>(bench.feed(TimePassed{})), nullptr);
  bench.at += BootTime(1);
  EXPECT_NE(find<SignalRanks>(bench.feed(TimePassed{})), nullptr);
  bench.at += kKillGrace;
  EXPECT_NE(find<KillByGuard>(bench.feed(TimePassed{})), nullptr);
  const auto last = bench.feed(Bench::report(GuardNews::kClean));
  EXPECT_EQ(find<ExitAgent>(last)->status, Exit::kUnreachable);
}

TEST(Supervisor, AStoppedLauncherKeepsItsRanksBeyondTheLease) {
  Bench bench;
  bench.start(0);
  const auto stopped = bench.feed(Signal{SIGSTOP});
  ASSERT_NE(find<PassSignal>(stopped), nullptr);
  EXPECT_EQ(find<PassSignal>(stopped)->signal, SIGSTOP);
  bench.at += 10 * BootTime(kLease);
  EXPECT_TRUE(bench.feed(TimePassed{}).empty());
  bench.feed(LauncherHeard{});
  const auto going_on = bench.feed(Signal{SIGCONT});
  ASSERT_NE(find<PassSignal>(going_on), nullptr);
  EXPECT_EQ(find<PassSignal>(going_on)->signal, SIGCONT);
  bench.at += BootTime(kLease);  // the lease runs again
  EXPECT_NE(find<SignalRanks>(bench.feed(TimePassed{})), nullptr);
}

TEST(Supervisor, AStoppedLauncherThatGoesTakesItsRanksAlong) {
  Bench bench;
  bench.start(0);
  bench.feed(Signal{SIGSTOP});
  EXPECT_NE(find<SignalRanks>(bench.feed(LauncherGone{})), nullptr);
  EXPECT_FALSE(bench.supervisor.paused);
}

TEST(Supervisor, PassesNoSignalsOnceItStops) {
  Bench bench;
  bench.start(0);
  bench.feed(Stop{SIGTERM, 1000});
  EXPECT_TRUE(bench.feed(Signal{SIGSTOP}).empty());
  EXPECT_FALSE(bench.supervisor.paused);
}

TEST(Supervisor, AnIdleAgentExitsWellWhenTheLauncherGoes) {
  Bench bench;
  EXPECT_NE(find<KillByGuard>(bench.feed(LauncherGone{})), nullptr);
  EXPECT_EQ(find<ExitAgent>(bench.feed(Bench::report(GuardNews::kClean)))->status, Exit::kOk);
}

TEST(Supervisor, KillsByItsOwnHandWhenTheGuardIsGoneOrSilent) {
  for (const Event& lost : {Event(GuardGone{}), Event(GuardSilent{})}) {
    Bench bench;
    bench.start(0);
    const auto effects = bench.feed(lost);
    EXPECT_NE(sent<Trouble>(effects), nullptr);
    EXPECT_NE(find<KillByOwnHand>(effects), nullptr);
    EXPECT_EQ(find<ExitAgent>(effects)->status, Exit::kOs);
    EXPECT_TRUE(bench.feed(Finish{}).empty());
  }
}

TEST(Supervisor, EndsTheRanksWhenItsKeeperIsGone) {
  Bench bench;
  bench.start(0);
  const auto effects = bench.feed(KeeperGone{4711});
  ASSERT_NE(sent<Trouble>(effects), nullptr);
  EXPECT_EQ(sent<Trouble>(effects)->text, "its job-keeper (process 4711) was killed");
  EXPECT_NE(find<SignalRanks>(effects), nullptr);
  EXPECT_EQ(sent<Trouble>(bench.feed(KeeperGone{4711})), nullptr);  // reported only once
}

TEST(Supervisor, EndsTheRanksWhenTheirPmixServerIsGone) {
  Bench bench;
  bench.start(0);
  const auto effects = bench.feed(PmixGone{"dtpmix was killed by SIGKILL"});
  ASSERT_NE(sent<Trouble>(effects), nullptr);
  EXPECT_EQ(sent<Trouble>(effects)->text, "dtpmix was killed by SIGKILL");
  EXPECT_NE(find<SignalRanks>(effects), nullptr);
}

TEST(Supervisor, NeverWaitsWithoutAnEnd) {
  // In every state, after every event, a timer must run until the agent exits.
  for (const Event& event :
       {Event(Stop{}), Event(Kill{}), Event(Finish{}), Event(LauncherGone{})}) {
    Bench bench;
    bench.start(0);
    bench.feed(event);
    if (bench.supervisor.state == AgentState::kStopping) {
      EXPECT_LT(due(bench.supervisor), BootTime::max());
    } else {
      EXPECT_EQ(bench.supervisor.state, AgentState::kKilling);  // the guard has 10 s to answer
    }
  }
}

TEST(Supervisor, WaitsLongerForALauncherThatMayComeBack) {
  Bench bench;
  bench.start(0);
  bench.feed(Reconnect{"00112233aabbccdd", "token", 60000});
  bench.at += kLease + BootTime(59999);
  EXPECT_EQ(find<SignalRanks>(bench.feed(TimePassed{})), nullptr);
  EXPECT_EQ(due(bench.supervisor), bench.at + BootTime(1));
  bench.at += BootTime(1);
  EXPECT_NE(find<SignalRanks>(bench.feed(TimePassed{})), nullptr);
}

}  // namespace
}  // namespace dtl::supervisor_test
