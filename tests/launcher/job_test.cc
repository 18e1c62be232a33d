#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

#include "tests/launcher/job_fixture.h"

namespace dtl::job_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(JobTest, GoesThroughItsLifeWhenNothingFails) {
  start_agents();
  EXPECT_EQ(job_.state, JobState::kPreflight);
  const auto listen = feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  EXPECT_THAT(sent<Listen>(listen), ElementsAre(0, 1));
  EXPECT_THAT(hear(0, Listening{}), IsEmpty());
  EXPECT_EQ(count<job::Probe>(hear(1, Listening{})), 1);
  EXPECT_THAT(hear(1, Reached{}), IsEmpty());
  EXPECT_EQ(count<job::JudgeNetwork>(hear(0, Reached{})), 1);
  const auto probed = feed(job::Judged{false});
  EXPECT_THAT(sent<StopListening>(probed), ElementsAre(0, 1));
  EXPECT_EQ(count<job::MakePlan>(probed), 1);
  EXPECT_EQ(count<job::ClaimNodes>(feed(job::Planned{})), 1);
  EXPECT_EQ(job_.state, JobState::kClaiming);
  EXPECT_THAT(hear(1, CoresClaimed{}), IsEmpty());
  EXPECT_EQ(count<job::StartRanks>(hear(0, CoresClaimed{})), 1);
  for (const std::uint32_t rank : {0U, 1U, 2U}) EXPECT_THAT(exit_rank(rank, 0), IsEmpty());
  EXPECT_THAT(sent<Finish>(exit_rank(3, 0)), ElementsAre(0, 1));
  hear(0, Finished{});
  EXPECT_EQ(job_.state, JobState::kFinishing);
  hear(1, Finished{});
  EXPECT_EQ(job_.state, JobState::kDone);
  EXPECT_EQ(job_.outcome->exit_status, 0);
}

TEST_F(JobTest, HasTasksOfOneMachineAnswerUnderItsNumber) {
  start_agents();
  job::Placed placed{{0, 1}, {{0, 1}, {2, 3}}};
  placed.machines = {0, 0};
  std::vector<std::uint32_t> numbers;
  for (const job::Effect& effect : feed(placed)) {
    const auto* send = std::get_if<job::Send>(&effect);
    if (send == nullptr) continue;
    if (const auto* listen = std::get_if<Listen>(&send->message)) numbers.push_back(listen->node);
  }
  EXPECT_THAT(numbers, ElementsAre(0, 0));
}

TEST_F(JobTest, StartsNothingWhenAnAgentDoesNotComeUpAndWaitsForTheOthersNews) {
  feed(job::AgentFailed{1, Exit::kAuth});
  EXPECT_EQ(job_.state, JobState::kStarting);
  const auto effects = feed(job::AgentReady{0});
  EXPECT_THAT(sent<Finish>(effects), ElementsAre(0));
  EXPECT_EQ(count<job::PlaceRanks>(effects), 0);
  hear(0, Finished{});
  EXPECT_EQ(job_.state, JobState::kDone);
  EXPECT_EQ(job_.outcome->exit_status, 77);
}

TEST_F(JobTest, TakesTheStatusOfTheFirstBadHostInOrderNotInTime) {
  feed(job::AgentFailed{1, Exit::kAuth});
  feed(job::AgentFailed{0, Exit::kUnreachable});
  EXPECT_EQ(job_.state, JobState::kDone);
  EXPECT_EQ(job_.outcome->exit_status, 69);
  EXPECT_EQ(job_.outcome->node, 0);
}

TEST_F(JobTest, SkipsTheConnectMatrixOnOneNodeAndReleasesTheOther) {
  start_agents();
  const auto placed = feed(job::Placed{{1}, {{0, 1}}});
  EXPECT_THAT(sent<Finish>(placed), ElementsAre(0));
  EXPECT_THAT(sent<Listen>(placed), ElementsAre(1));
  const auto effects = hear(1, Listening{});
  EXPECT_EQ(count<job::MakePlan>(effects), 1);
  feed(job::Planned{});
  hear(1, CoresClaimed{});
  hear(0, Finished{});
  feed(job::AgentLost{0, Cause::kAgentFailed, 71, "end of stream"});
  EXPECT_EQ(job_.state, JobState::kRunning);
}

TEST_F(JobTest, ProbesOnceMoreWithAllPatienceWhenNoNetworkIsProvedAndThenLetsThePlanSayWhy) {
  start_agents();
  feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  hear(0, Listening{});
  hear(1, Listening{});
  hear(0, Reached{});
  hear(1, Reached{});
  const auto again = feed(job::Judged{true});
  EXPECT_EQ(count<job::Probe>(again), 1);
  EXPECT_THAT(sent<StopListening>(again), IsEmpty());
  hear(0, Reached{});
  EXPECT_EQ(count<job::JudgeNetwork>(hear(1, Reached{})), 1);
  const auto probed = feed(job::Judged{true});
  EXPECT_EQ(count<job::Probe>(probed), 0);
  EXPECT_EQ(count<job::MakePlan>(probed), 1);
}

TEST_F(JobTest, StopsTheOthersWhenARankFailsAndKeepsTheFirstCause) {
  run();
  const auto effects = exit_rank(2, 3);
  EXPECT_THAT(sent<Stop>(effects), ElementsAre(0, 1));
  EXPECT_EQ(job_.state, JobState::kStopping);
  exit_rank(0, 0, SIGTERM);
  exit_rank(1, 9);
  exit_rank(3, 0, SIGTERM);
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->rank, 2);
  EXPECT_EQ(job_.outcome->exit_status, 3);
}

TEST_F(JobTest, ReportsASignalAs128PlusItsNumber) {
  run();
  exit_rank(1, 0, SIGSEGV);
  EXPECT_EQ(job_.outcome->cause, Cause::kRankSignal);
  EXPECT_EQ(job_.outcome->exit_status, 139);
}

TEST_F(JobTest, TellsAMissingProgramFromOneThatCannotRun) {
  EXPECT_EQ(spawn_status("exec", ENOENT), 127);
  EXPECT_EQ(spawn_status("exec", EACCES), 126);
  EXPECT_EQ(spawn_status("chdir", ENOENT), 71);
  plan();
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    hear(static_cast<int>(rank / 2), SpawnFailed{rank, "exec", ENOENT, ""});
  }
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->exit_status, 127);
  EXPECT_EQ(job_.outcome->rank, 0);
}

TEST_F(JobTest, DeclaresASilentNodeLostAfterItsDeadlineAndSaysSoBefore) {
  run();
  const JobTime start = now_;
  const auto suspected = pass(kSuspect + 100ms, {0});
  EXPECT_THAT(notices(suspected), HasSubstr("no sign of life for 3 s"));
  EXPECT_EQ(job_.state, JobState::kRunning);
  const auto lost = pass(kDead - kSuspect, {0});
  EXPECT_EQ(job_.state, JobState::kStopping);
  EXPECT_LE(now_ - start, kDead + 1s);
  EXPECT_EQ(job_.outcome->cause, Cause::kNodeLost);
  EXPECT_EQ(job_.outcome->exit_status, 69);
  EXPECT_EQ(count<job::CloseNode>(lost), 1);
  EXPECT_EQ(job_.ranks[2].phase, RankPhase::kLost);
}

TEST_F(JobTest, SaysOneLineOfASilenceThatEndsInTime) {
  run();
  const auto silent = pass(kDead - kHeartbeat, {0});
  EXPECT_EQ(count<job::Notice>(silent), 1);
  EXPECT_THAT(notices(silent), HasSubstr("no sign of life for 3 s; the job goes on if one comes "
                                         "within 9 s"));
  EXPECT_EQ(notices(hear(1, Heartbeat{})), "");
  EXPECT_EQ(job_.state, JobState::kRunning);
  EXPECT_THAT(notices(pass(kSuspect + 1s, {0})), HasSubstr("no sign of life for 3 s"));
  EXPECT_EQ(notices(exit_rank(2, 0)), "");
}

TEST_F(JobTest, NamesTheProcessOfUpThatEndedAndNoHost) {
  run();
  feed(job::AgentLost{0, Cause::kUpEnded, 69, ""});
  EXPECT_THAT(failure_card(*job_.outcome, {}, 80),
              StartsWith("the process of 'dtlaunch up' that kept the connections has ended"));
  EXPECT_EQ(notices(feed(job::AgentLost{1, Cause::kUpEnded, 69, ""})), "");
}

TEST_F(JobTest, EndsWith71WhenAnAgentDies) {
  run();
  feed(job::AgentLost{0, Cause::kAgentFailed, 71, "killed by SIGKILL"});
  EXPECT_EQ(job_.state, JobState::kStopping);
  EXPECT_EQ(job_.outcome->exit_status, 71);
  exit_rank(2, 0, SIGTERM);
  exit_rank(3, 0, SIGTERM);
  EXPECT_EQ(job_.state, JobState::kFinishing);
  hear(1, Finished{});
  EXPECT_EQ(job_.state, JobState::kDone);
}

TEST_F(JobTest, EndsWith71WhenAnAgentGivesUp) {
  run();
  hear(1, Trouble{"the guard has died"});
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
  EXPECT_EQ(job_.outcome->text, "the guard has died");
}

TEST_F(JobTest, DropsANodeThatTalksAboutRanksOfOthers) {
  run();
  const auto effects = hear(1, Started{0, 5});
  EXPECT_EQ(count<job::CloseNode>(effects), 1);
  EXPECT_EQ(job_.outcome->exit_status, 76);
}

TEST_F(JobTest, StopsAtTheFirstInterruptAndKillsAtTheSecond) {
  run();
  EXPECT_THAT(sent<Stop>(feed(job::Signalled{SIGINT})), ElementsAre(0, 1));
  EXPECT_THAT(sent<Kill>(feed(job::Signalled{SIGINT})), ElementsAre(0, 1));
  EXPECT_EQ(job_.outcome->exit_status, 130);
  feed(job::Signalled{SIGINT});  // the third and fourth do not wait
  feed(job::Signalled{SIGINT});
  EXPECT_EQ(job_.state, JobState::kDone);
}

TEST_F(JobTest, HurriesWhenTheUserIsWaitingUnlessTheGraceIsGiven) {
  run();
  const auto grace_of = [](const std::vector<job::Effect>& effects) {
    for (const auto& effect : effects) {
      const auto* send = std::get_if<job::Send>(&effect);
      const Stop* stop = send != nullptr ? std::get_if<Stop>(&send->message) : nullptr;
      if (stop != nullptr) return stop->grace_ms;
    }
    return 0U;
  };
  Job patient = job_;
  patient.options.ending.grace = 30s;
  EXPECT_EQ(grace_of(feed(job::Signalled{SIGINT})), 4000U);
  EXPECT_EQ(grace_of(step(patient, job::Signalled{SIGINT}, now_)), 30000U);
}

TEST_F(JobTest, AsksRanksWhatTheyDoOnlyWhenTheirTimeIsUp) {
  job_.options.ending.timeout = 1500ms;
  run();
  const auto asks_for = [](const std::vector<job::Effect>& effects) {
    for (const auto& effect : effects) {
      const auto* send = std::get_if<job::Send>(&effect);
      const Stop* stop = send != nullptr ? std::get_if<Stop>(&send->message) : nullptr;
      if (stop != nullptr) return static_cast<int>(stop->ask_ms);
    }
    return -1;
  };
  Job interrupted = job_;
  EXPECT_EQ(asks_for(step(interrupted, job::Signalled{SIGINT}, now_)), 0);
  EXPECT_EQ(asks_for(pass(1500ms, {0, 1})), 500);
  hear(0, Stack{1, StackAnswer::kTold, "Current thread 0x1 (most recent call first):\n"});
  hear(1, Stack{0, StackAnswer::kTold, "of another node's rank"});
  EXPECT_EQ(job_.ranks[1].stack->answer, StackAnswer::kTold);
  EXPECT_FALSE(job_.ranks[0].stack.has_value());
}

TEST_F(JobTest, InterruptedWhileStartingLetsGoOfEveryAgent) {
  feed(job::AgentReady{0});
  const auto effects = feed(job::Signalled{SIGTERM});
  EXPECT_THAT(sent<Finish>(effects), ElementsAre(0));
  EXPECT_EQ(count<job::CloseNode>(effects), 1);
  hear(0, Finished{});
  EXPECT_EQ(job_.state, JobState::kDone);
  EXPECT_EQ(job_.outcome->exit_status, 143);
}

TEST_F(JobTest, EndsAtItsTimeout) {
  job_.options.ending.timeout = 1500ms;
  run();
  pass(1400ms);
  EXPECT_EQ(job_.state, JobState::kRunning);
  pass(100ms);
  EXPECT_EQ(job_.state, JobState::kStopping);
  EXPECT_EQ(job_.outcome->exit_status, 124);
}

TEST_F(JobTest, EndsLikeAClosedPipeWhenNobodyReads) {
  run();
  EXPECT_THAT(sent<Stop>(feed(job::OutputClosed{})), ElementsAre(0, 1));
  EXPECT_EQ(job_.outcome->exit_status, 141);
}

TEST_F(JobTest, GivesUpOnNodesThatNeverConfirmAndNamesThem) {
  run();
  feed(job::Signalled{SIGINT});
  pass(kKillGrace + kReapDeadline + kAnswerMargin);
  EXPECT_EQ(job_.state, JobState::kFinishing);
  const auto effects = pass(kReapDeadline + kAnswerMargin);
  EXPECT_EQ(job_.state, JobState::kDone);
  EXPECT_EQ(count<job::CloseNode>(effects), 2);
  EXPECT_THAT(notices(effects), HasSubstr("does not confirm"));
}

TEST_F(JobTest, GivesUpOnAnAgentThatNeverAnswersTheConnectionTest) {
  start_agents();
  feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  hear(0, Listening{});
  pass(kConnectDeadline + kAnswerMargin);
  EXPECT_EQ(job_.outcome->node, 1);
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.nodes[0].phase, NodePhase::kEnding);
}

TEST_F(JobTest, GivesUpOnAnAgentThatNeverComesUp) {
  feed(job::AgentReady{0});
  pass(kSshDeadline + kHelloDeadline + kAnswerMargin, {0});
  EXPECT_EQ(job_.outcome->exit_status, 69);
  EXPECT_EQ(job_.outcome->node, 1);
  EXPECT_EQ(job_.state, JobState::kFinishing);
}

TEST_F(JobTest, SaysWhomItWaitsForWhenStoppingTakesLong) {
  run();
  exit_rank(1, 3);
  exit_rank(2, 0, SIGTERM);
  EXPECT_THAT(notices(pass(3s)), HasSubstr("waiting for ranks 0,3 to end; SIGKILL comes 5.0 s"));
}

TEST_F(JobTest, SaysWhenProcessesWereLeftBehind) {
  run();
  Exited exited;
  exited.rank = 0;
  exited.left_behind = 2;
  hear(0, exited);
  exited.rank = 1;
  hear(0, exited);
  EXPECT_THAT(notices(pass(2s)), HasSubstr("ranks 0-1 left 4 processes behind; ended"));
}

TEST_F(JobTest, SaysNothingOfWhatIsLeftByRanksThatItEnds) {
  run();
  std::string said = notices(exit_rank(0, 3));
  Exited exited;
  exited.rank = 1;
  exited.signal = SIGTERM;
  exited.left_behind = 2;
  said += notices(hear(0, exited)) + notices(pass(4s));
  EXPECT_THAT(said, Not(HasSubstr("behind")));
}

TEST_F(JobTest, SendsHeartbeatsEachSecond) {
  run();
  EXPECT_EQ(sent<Heartbeat>(pass(10s)).size(), 20U);
}

// Agents' reports of two ranks; rank 3 has not entered the other's collective.
RankStates waiting_for_rank_3(std::uint32_t rank) {
  RankReport report;
  report.rank = rank;
  report.pid = 100 + rank;
  CommState comm;
  comm.id = 7;
  comm.rank = rank == 3 ? 1 : 0;
  comm.world = 2;
  comm.begun = rank == 3 ? 4 : 5;
  comm.opcode = 1;
  comm.completed = 4;
  report.comms = {comm};
  return {{report}};
}

TEST_F(JobTest, NamesWhoHangsAndEndsTheJobOnceItHasLastedLong) {
  job_.options.ending.hang_notice = 30s;
  job_.options.ending.hang_timeout = 60s;
  start_agents();
  feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  for (const int node : {0, 1}) hear(node, Listening{});
  for (const int node : {0, 1}) hear(node, Reached{});
  feed(job::Judged{false});
  feed(job::Planned{});
  hear(0, CoresClaimed{});
  EXPECT_THAT(sent<WatchRanks>(hear(1, CoresClaimed{})), ElementsAre(0, 1));
  for (std::uint32_t rank = 0; rank < 4; ++rank) hear(static_cast<int>(rank / 2), Started{rank, 1});
  std::vector<job::Effect> effects;
  for (int second = 0; second < 58; ++second) {
    hear(0, waiting_for_rank_3(0));
    hear(1, waiting_for_rank_3(3));
    append(effects, pass(1s));
  }
  EXPECT_THAT(notices(effects), HasSubstr("rank 3 has not entered the allreduce in which rank 0 "));
  EXPECT_EQ(job_.state, JobState::kRunning);
  for (int second = 0; second < 5 && job_.state == JobState::kRunning; ++second) {
    hear(0, waiting_for_rank_3(0));
    hear(1, waiting_for_rank_3(3));
    effects = pass(1s);
  }
  ASSERT_EQ(job_.state, JobState::kStopping);
  EXPECT_THAT(sent<WatchRanks>(effects), ElementsAre(0, 1));  // now for debuggers
  EXPECT_THAT(sent<Stop>(effects), ElementsAre(0, 1));
  EXPECT_EQ(job_.outcome->cause, Cause::kHang);
  EXPECT_EQ(job_.outcome->exit_status, 124);
  EXPECT_THAT(job_.hang->odd, ElementsAre(3));
}

TEST_F(JobTest, EndsADryRunWithoutStartingARank) {
  start_agents();
  feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  hear(0, Listening{});
  hear(1, Listening{});
  hear(0, Reached{});
  hear(1, Reached{});
  feed(job::Judged{false});
  const auto effects = feed(job::Refused{Cause::kDryRun, 0});
  EXPECT_EQ(count<job::StartRanks>(effects), 0);
  EXPECT_THAT(sent<Finish>(effects), ElementsAre(0, 1));
  EXPECT_EQ(job_.outcome->exit_status, 0);
}

}  // namespace
}  // namespace dtl::job_test
