// Processes that outlive others: nothing is left, whichever of launcher, agent and guard dies
// first. Ranks write down their processes' pids; tests first check that these are alive.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "agent_driver.h"
#include "base/limits.h"

namespace dtl::lifetime_test {
namespace {

using std::chrono::milliseconds;

// A rank with a plain child, a child in its own session, and a grandchild below that whose parent
// has exited; if `stubborn`, all ignore SIGTERM. It prints their pids on one line.
std::string family(bool stubborn) {
  const std::string trap = stubborn ? "trap '' TERM; " : "";
  return trap +
         "sleep 1000 & a=$!; setsid sleep 1000 & b=$!; "
         "c=$(setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'); "
         "echo pids $$ $a $b $c; wait";
}

std::vector<pid_t> pids_in(const std::string& line) {
  std::istringstream words(line.substr(line.find("pids ") + 5));
  std::vector<pid_t> pids;
  for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

// Starts two such ranks. Returns all pids: four per rank, and the guard's.
std::vector<pid_t> start_families(AgentDriver& agent, bool stubborn) {
  std::vector<pid_t> pids;
  for (const std::uint32_t rank : {0u, 1u}) {
    agent.start_script(rank, family(stubborn));
    const auto of_rank = pids_in(agent.expect_output(rank, "\n"));
    EXPECT_EQ(of_rank.size(), 4u);
    pids.insert(pids.end(), of_rank.begin(), of_rank.end());
  }
  const auto guard = children_of(agent.agent());
  pids.insert(pids.end(), guard.begin(), guard.end());
  EXPECT_EQ(pids.size(), 9u);
  for (const pid_t pid : pids) EXPECT_TRUE(is_alive(pid)) << pid;
  return pids;
}

pid_t guard_of(const AgentDriver& agent) {
  const auto children = children_of(agent.agent());
  EXPECT_EQ(children.size(), 1u);
  // After fork() it is still called dtagent until it executes dtguard.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (process_name(children.at(0)) != "dtguard" && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(process_name(children.at(0)), "dtguard");
  return children.at(0);
}

TEST(Lifetime, NothingIsLeftWhenTheAgentIsKilled) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  ::kill(agent.agent(), SIGKILL);
  EXPECT_EQ(await_gone(pids, milliseconds(5000)), 0u);
}

TEST(Lifetime, NothingIsLeftWhenTheGuardIsKilled) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  ::kill(guard_of(agent), SIGKILL);
  EXPECT_NE(agent.expect<Trouble>().text.find("dtguard died"), std::string::npos);
  EXPECT_EQ(agent.await_exit(), 71);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
}

TEST(Lifetime, NothingIsLeftWhenAgentThenGuardAreKilled) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  const pid_t guard = guard_of(agent);
  ::kill(agent.agent(), SIGKILL);
  ::kill(guard, SIGKILL);
  EXPECT_EQ(await_gone(pids, milliseconds(5000)), 0u);  // the keeper ends helpers in other sessions
  EXPECT_EQ(agent.await_exit(), 71);
}

TEST(Lifetime, TheKeeperIsNotNeededWhileTheAgentLives) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  EXPECT_EQ(process_name(agent.keeper()), "job-keeper");
  const pid_t keeper = agent.keeper();
  ::kill(keeper, SIGKILL);
  EXPECT_EQ(agent.await_exit(), 128 + SIGKILL);
  agent.send(Finish{});
  EXPECT_GT(agent.expect<Finished>().killed, 0u);
  EXPECT_EQ(await_gone(pids, milliseconds(5000)), 0u);
}

TEST(Lifetime, AStoppedGuardIsNoticed) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  ::kill(guard_of(agent), SIGSTOP);
  EXPECT_NE(agent.expect<Trouble>().text.find("is stopped (state T)"), std::string::npos);
  EXPECT_EQ(agent.await_exit(), 71);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
}

TEST(Lifetime, NothingIsLeftWhenTheAgentIsStoppedAndItsGuardKilled) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  const pid_t guard = guard_of(agent);
  ::kill(agent.agent(), SIGSTOP);
  ::kill(guard, SIGKILL);
  EXPECT_EQ(await_gone(pids, milliseconds(20'000)), 0u);  // the keeper waits for 12 s
  EXPECT_EQ(agent.await_exit(), 71);
}

TEST(Lifetime, NothingIsLeftWhenTheLauncherIsGone) {
  AgentDriver agent;
  const auto pids = start_families(agent, false);
  agent.hang_up();
  EXPECT_EQ(agent.await_exit(), 69);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
}

TEST(Lifetime, RanksThatIgnoreSigtermDieAfterTheGrace) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  agent.send(Stop{SIGTERM, 300});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(agent.expect<Exited>().signal, static_cast<std::uint32_t>(SIGKILL));
  }
  EXPECT_EQ(agent.finish(), 0);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
}

TEST(Lifetime, AStopIsSeenByTheRanks) {
  AgentDriver agent;
  agent.start_script(0, "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done");
  agent.expect_output(0, "ready");
  agent.send(Stop{SIGTERM, 10000});
  EXPECT_EQ(agent.expect<Exited>().code, 7u);
  EXPECT_EQ(agent.output(0), "ready\nbye\n");
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Lifetime, AStoppedRankCanBeEnded) {
  AgentDriver agent;
  agent.start_script(0, "echo ready; kill -STOP $$; sleep 1000");
  agent.expect_output(0, "ready");
  agent.send(Stop{SIGTERM, 10000});
  EXPECT_EQ(agent.expect<Exited>().signal, static_cast<std::uint32_t>(SIGTERM));
}

TEST(Lifetime, FinishEndsWhateverIsLeft) {
  AgentDriver agent;
  const auto pids = start_families(agent, true);
  agent.send(Finish{});
  EXPECT_GT(agent.expect<Finished>().killed, 0u);
  EXPECT_EQ(agent.await_exit(), 0);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
}

TEST(Lifetime, WhatARankLeavesBehindEndsWithItAndSparesTheOthers) {
  AgentDriver agent;
  agent.start_script(0, family(false));
  const auto others = pids_in(agent.expect_output(0, "\n"));
  // Wait for both: before exec, the process that becomes sleep lacks the environment variable.
  agent.start_script(1,
                     "setsid sleep 1000 & a=$!; sleep 1000 & b=$!; for p in $a $b; do "
                     "until read name </proc/$p/comm && [ $name = sleep ]; do :; done; done; "
                     "echo pids $a $b; exit 0");
  const auto left = pids_in(agent.expect_output(1, "\n"));
  const Exited exited = agent.expect<Exited>();
  EXPECT_EQ(exited.rank, 1u);
  EXPECT_EQ(exited.left_behind, 2u);
  EXPECT_EQ(await_gone(left, milliseconds(5000)), 0u);
  EXPECT_EQ(others.size(), 4u);
  for (const pid_t pid : others) EXPECT_TRUE(is_alive(pid)) << pid;
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Lifetime, AfterAStopNoRankIsStarted) {
  AgentDriver agent;
  agent.send(Stop{SIGTERM, 1000});
  agent.start_script(0, "true");
  EXPECT_EQ(agent.expect<SpawnFailed>().stage, "stopped");
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Lifetime, ATerminatedAgentEndsItsRanks) {
  AgentDriver agent;
  const auto pids = start_families(agent, false);
  ::kill(agent.keeper(), SIGTERM);
  EXPECT_NE(agent.expect<Trouble>().text.find("SIGTERM"), std::string::npos);
  EXPECT_EQ(agent.await_exit(), 71);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
}

TEST(Lifetime, GarbageEndsTheConversationAndTheRanks) {
  AgentDriver agent;
  const auto pids = start_families(agent, false);
  agent.send(Hello{});  // wrong direction: only agents send Hello
  EXPECT_EQ(agent.await_exit(), 69);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
}

TEST(Lifetime, SilenceEndsEverythingAfterTheLeases) {
  // Both in one test, because leases are long: one launcher is silent, one agent is stopped.
  AgentDriver deaf, stopped;
  const auto pids = start_families(deaf, false);
  const auto guarded = start_families(stopped, true);
  deaf.set_heartbeats(false);
  ::kill(stopped.agent(), SIGSTOP);
  EXPECT_EQ(deaf.await_exit(kLease + kKillGrace + milliseconds(5000)), 69);
  EXPECT_EQ(await_gone(pids, milliseconds(0)), 0u);
  EXPECT_EQ(await_gone(guarded, kGuardLease + milliseconds(8000)), 0u);
}

}  // namespace
}  // namespace dtl::lifetime_test
