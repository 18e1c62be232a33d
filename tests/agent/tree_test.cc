// A tree of real agents over loopback. tests/agent/relay_test.cc has the rules of a relay,
// tests/sim/tree_sim_test.cc thousands of them.

#include <gtest/gtest.h>
#include <signal.h>

#include "base/sha256.h"
#include "tree_driver.h"

namespace dtl::tree_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A chain: dtlaunch, 0, 1, 2. Each but the first has all above it as parents, the nearest first.
void make_chain(TreeDriver& driver) {
  driver.join(driver.add_agent(), {});
  driver.join(driver.add_agent(), {0});
  driver.join(driver.add_agent(), {1, 0});
}

TEST(AgentTree, RunsRanksAtItsEndAndLeavesInOrder) {
  TreeDriver driver;
  make_chain(driver);
  TreeDriver::Node& last = driver.node(2);
  EXPECT_TRUE(last.ended) << "the login's stream is still open";
  driver.start_script(last, 5, "echo hello; sleep 0.1; echo more");
  EXPECT_TRUE(driver.run_until([&] { return last.outputs[5] == "hello\nmore\n"; }));
  EXPECT_TRUE(driver.run_until([&] { return driver.find<Exited>(last).has_value(); }));
  EXPECT_EQ(driver.finish(), (std::vector<int>{0, 0, 0}));
  for (std::uint32_t node = 0; node < 3; ++node) {
    const TreeDriver::Node& left = driver.node(node);
    EXPECT_TRUE(driver.run_until([&] { return driver.find<Finished>(left).has_value(); })) << node;
  }
}

TEST(AgentTree, FindsTheGrandparentOfALostRelayWithoutLosingALine) {
  TreeDriver driver;
  make_chain(driver);
  TreeDriver::Node& last = driver.node(2);
  driver.start_script(last, 0,
                      "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done; sleep 60");
  ASSERT_TRUE(driver.run_until([&] { return !last.outputs[0].empty(); }));
  ::kill(driver.agent_of(driver.node(1)), SIGKILL);
  const auto lost = Clock::now();
  ASSERT_TRUE(driver.run_until([&] { return last.resumed == 2; }));
  EXPECT_LT(Clock::now() - lost, 4s) << "the lost edge was not noticed before the pulses' silence";
  std::string expected;
  for (int i = 0; i < 3000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_TRUE(driver.run_until([&] { return last.outputs[0].size() >= expected.size(); }));
  EXPECT_EQ(last.outputs[0], expected);
  driver.node(2).connection->send(Kill{});
  EXPECT_TRUE(driver.run_until([&] { return driver.find<Exited>(last).has_value(); }));
}

// A piece that came down the tree is not asked for; another one is, by the node alone.
TEST(AgentTree, AsksForThePieceOfASharedFrameThatHasNotCome) {
  TreeDriver driver;
  make_chain(driver);
  TreeDriver::Node& last = driver.node(2);
  const auto digest = [](const std::string& piece) {
    Sha256 sum;
    sum.add(piece);
    const Sha256::Digest bytes = sum.digest();
    return std::string(bytes.begin(), bytes.end());
  };
  Relayed relayed;
  encode_parcel({ParcelKind::kPiece, 0, 0, "has come"}, relayed.bytes);
  driver.node(0).connection->send(std::move(relayed));
  last.connection->send(SharedFrame{{digest("has come"), digest("has not")}});
  ASSERT_TRUE(driver.run_until([&] { return driver.find<PieceWanted>(last).has_value(); }));
  EXPECT_EQ(driver.find<PieceWanted>(last)->digest, digest("has not"));
  EXPECT_EQ(driver.finish(), (std::vector<int>{0, 0, 0}));
}

TEST(AgentTree, LeavesAStoppedRelayWithinTheLease) {
  TreeDriver driver;
  make_chain(driver);
  TreeDriver::Node& last = driver.node(2);
  const pid_t stopped = driver.agent_of(driver.node(1));
  ::kill(stopped, SIGSTOP);
  EXPECT_TRUE(driver.run_until([&] { return last.resumed == 2; }, 9s));
  driver.start_script(last, 0, "echo here");
  EXPECT_TRUE(driver.run_until([&] { return last.outputs[0] == "here\n"; }));
  ::kill(stopped, SIGCONT);
}

TEST(AgentTree, EndsItsRanksOnceDtlaunchIsGone) {
  TreeDriver driver;
  make_chain(driver);
  driver.start_script(driver.node(2), 0, "sleep 600");
  ASSERT_TRUE(driver.run_until([&] { return driver.find<Started>(driver.node(2)).has_value(); }));
  const auto pid = static_cast<pid_t>(driver.find<Started>(driver.node(2))->pid);
  driver.hang_up();
  EXPECT_TRUE(driver.run_until([&] { return ::kill(pid, 0) != 0; }, 30s)) << "the rank lives";
  for (std::uint32_t node = 0; node < 3; ++node) {
    EXPECT_GT(driver.await_exit(driver.node(node)), 0) << node;
  }
}

}  // namespace
}  // namespace dtl::tree_test
