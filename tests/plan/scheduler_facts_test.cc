// Facts about each scheduler that need no job environment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "base/error.h"
#include "plan/schedulers/evidence.h"
#include "plan/schedulers/flux.h"
#include "plan/schedulers/kubernetes.h"
#include "plan/schedulers/scheduler.h"
#include "plan/schedulers/slurm.h"

namespace dtl::scheduler_facts_test {
namespace {

using testing::HasSubstr;

TEST(SchedulerFacts, AreWholeAndNamedOnce) {
  std::set<std::string_view> names;
  for (const Scheduler* scheduler : schedulers()) {
    EXPECT_TRUE(names.insert(scheduler->name).second) << scheduler->name;
    EXPECT_NE(scheduler->title, "") << scheduler->name;
    EXPECT_NE(scheduler->look, nullptr) << scheduler->name;
    EXPECT_NE(scheduler->read, nullptr) << scheduler->name;
    ASSERT_NE(scheduler->commands, nullptr) << scheduler->name;
    const HostCommands& commands = scheduler->commands(SchedulerEvidence{});
    for (const std::string_view command :
         {commands.state, commands.kills, commands.ends, commands.runs}) {
      EXPECT_NE(command, "") << scheduler->name;
    }
    EXPECT_EQ(parse_scheduler(std::string(scheduler->name)), scheduler);
    if (!scheduler->runs_inside.empty()) {
      EXPECT_NE(parse_scheduler(std::string(scheduler->runs_inside)), nullptr);
    }
  }
}

TEST(SchedulerFacts, HaveStartersWithWordsOfTheirOwn) {
  std::set<std::string_view> words = {"ssh", "fork"};
  for (const Scheduler* scheduler : schedulers()) {
    if (scheduler->starter == nullptr) continue;
    const Starter& starter = *scheduler->starter;
    EXPECT_FALSE(starter.programs.empty()) << scheduler->name;
    EXPECT_NE(starter.summary, "") << scheduler->name;
    EXPECT_EQ(starter.elsewhere.empty(), starter.way == Starter::Way::kCarried) << scheduler->name;
    for (const StarterWord& each : starter.words) {
      EXPECT_TRUE(words.insert(each.word).second) << each.word;
      EXPECT_LT(each.program.value_or(0), starter.programs.size()) << each.word;
    }
  }
}

TEST(SchedulerFacts, KnowsTheJobOfASlurmStep) {
  SchedulerEvidence evidence;
  evidence.scheduler = &kSlurm;
  evidence.job_id = "42.0";
  evidence.step_of = "42";
  EXPECT_EQ(host_access(evidence).job, "42");
}

TEST(SchedulerFacts, SeesVariablesOfPodsThatSomebodyHasSetElsewhere) {
  const auto elsewhere = [](const char* name, const char* value) {
    const Variables by_hand = {{"DTL_NODE_RANK", "1"}, {"DTL_NNODES", "2"}, {"DTL_RDZV", "n0"}};
    Variables all = by_hand;
    all.emplace_back(name, value);
    const SchedulerEvidence evidence = find_scheduler(all, std::nullopt, {});
    EXPECT_EQ(evidence.outside_kubernetes, !host_access(evidence).to_pod());
    return evidence.outside_kubernetes;
  };
  EXPECT_TRUE(elsewhere("HOSTNAME", "n1"));
  EXPECT_FALSE(elsewhere("JOB_COMPLETION_INDEX", "1"));
  EXPECT_FALSE(elsewhere("KUBERNETES_SERVICE_HOST", "::1"));
}

TEST(SchedulerFacts, SaysThatAMeetingPointAloneIsLeftOut) {
  const SchedulerEvidence evidence = find_scheduler({{"DTL_RDZV", "n0:9"}}, std::nullopt, {});
  EXPECT_EQ(evidence.scheduler, nullptr);
  EXPECT_THAT(evidence.warnings, testing::ElementsAre(HasSubstr("without DTL_NODE_RANK")));
}

// All users can read a command's arguments, and shells keep a history.
TEST(SchedulerFacts, SaysNoTokenInACommandsArguments) {
  for (const Scheduler* scheduler : schedulers()) {
    EXPECT_THAT(std::string(scheduler->token_hint), testing::Not(HasSubstr("from-literal")));
  }
  for (const Scheduler* scheduler : {&kSlurm, &kFlux}) EXPECT_NE(scheduler->token_hint, "");
  EXPECT_THAT(std::string(kIndexedJob.token_hint),
              testing::StartsWith("openssl rand -hex 32 | kubectl create secret generic "
                                  "dtlaunch-token --from-file=token=/dev/stdin,"));
}

TEST(SchedulerFacts, IsAWordOfTheUser) {
  EXPECT_EQ(parse_scheduler("JobSet"), &kIndexedJob);
  EXPECT_EQ(scheduler_name(&kIndexedJob), "indexed-job");
  try {
    parse_scheduler("slurmm");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Try: --scheduler slurm"));
  }
}

TEST(SchedulerFacts, ComparesNamesOfHosts) {
  EXPECT_TRUE(same_host_name("n1", "N1.cluster"));
  EXPECT_FALSE(same_host_name("n1.a", "n1.b"));
  EXPECT_FALSE(same_host_name("10.0.0.1", "10.0.0.2"));
  EXPECT_FALSE(same_host_name("", ""));
}

}  // namespace
}  // namespace dtl::scheduler_facts_test
