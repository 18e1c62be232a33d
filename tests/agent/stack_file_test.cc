// The real agent asks ranks for their stacks before it ends them.
#include "agent/job/stack_file.h"

#include <gmock/gmock.h>

#include <csignal>
#include <map>

#include "agent_driver.h"
#include "base/limits.h"

namespace dtl::stack_file_test {
namespace {

using ::testing::MatchesRegex;

constexpr const char* kBegin = "echo ready; while :; do sleep 0.02; done";

// A rank that writes `text` when asked, or does what `handler` does.
std::string teller(const std::string& handler, const std::string& pid = "$$") {
  return "trap '" + handler + "' " + std::to_string(kAskSignal) + "; echo " + pid +
         " > $DTLAUNCH_STACK_FILE; " + kBegin;
}

// The answers of these ranks. Then each must end by SIGTERM only.
std::map<std::uint32_t, Stack> ask(const std::vector<std::string>& scripts) {
  AgentDriver agent;
  std::uint32_t rank = 0;
  for (const std::string& script : scripts) agent.start_script(rank++, script);
  for (rank = 0; rank < scripts.size(); ++rank) agent.expect_output(rank, "ready");
  agent.send(Stop{SIGTERM, 10000, 500});
  std::map<std::uint32_t, Stack> stacks;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const auto stack = agent.expect<Stack>();
    stacks[stack.rank] = stack;
  }
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    EXPECT_EQ(agent.expect<Exited>().signal, static_cast<std::uint32_t>(SIGTERM));
  }
  return stacks;
}

TEST(StackFile, HasWhatARankTellsWhenItIsAsked) {
  const auto stacks = ask({teller("echo at home >> $DTLAUNCH_STACK_FILE"),
                           teller("echo at work >> $DTLAUNCH_STACK_FILE")});
  EXPECT_EQ(stacks.at(0).answer, StackAnswer::kTold);
  EXPECT_EQ(stacks.at(0).text, "at home\n");
  EXPECT_EQ(stacks.at(1).text, "at work\n");
}

TEST(StackFile, IsWrittenByAProcessThatTheRankHasStarted) {
  const auto stacks =
      ask({"/bin/sh <<'END'\n" + teller("echo inside >> $DTLAUNCH_STACK_FILE") + "\nEND\nexit 3"});
  EXPECT_EQ(stacks.at(0).text, "inside\n");
}

TEST(StackFile, IsTheWordThatARankCanBeAsked) {
  const auto stacks = ask({kBegin,                                                     // no file
                           std::string("echo $$ > $DTLAUNCH_STACK_FILE; ") + kBegin,   // no handler
                           std::string("echo x$$ > $DTLAUNCH_STACK_FILE; ") + kBegin,  // no number
                           teller("echo x >> $DTLAUNCH_STACK_FILE", "$PPID"),  // not the rank's
                           teller("echo x >> $DTLAUNCH_STACK_FILE", "1")});
  for (const auto& [rank, stack] : stacks) {
    EXPECT_EQ(stack.answer, StackAnswer::kCannot) << rank;
    EXPECT_THAT(stack.text, MatchesRegex("[a-z]*sh")) << rank;
  }
}

TEST(StackFile, OfARankThatIsStoppedOrDoesNothingStaysEmpty) {
  const auto stacks = ask({teller(":")});
  EXPECT_EQ(stacks.at(0).answer, StackAnswer::kSilent);
  EXPECT_EQ(stacks.at(0).text, "");
  const auto stopped =
      ask({"trap : 48; echo $$ > $DTLAUNCH_STACK_FILE; echo ready; kill -STOP $$"});
  EXPECT_EQ(stopped.at(0).answer, StackAnswer::kSilent);
  EXPECT_EQ(stopped.at(0).text, "stopped");
}

TEST(StackFile, OfALongAnswerTheEndIsTaken) {
  const auto stacks =
      ask({teller("for i in 1 2 3 4 5 6 7 8; do printf %04096d\\\\n $i; done >> "
                  "$DTLAUNCH_STACK_FILE")});
  EXPECT_LE(stacks.at(0).text.size(), kMaxStackBytes);
  EXPECT_GT(stacks.at(0).text.size(), kMaxStackBytes - 4098);
  EXPECT_TRUE(stacks.at(0).text.ends_with("0008\n"));
  EXPECT_TRUE(stacks.at(0).text.starts_with("0000")) << "a whole line";
}

TEST(StackFile, IsAskedForByNoOtherStop) {
  AgentDriver agent;
  agent.start_script(0, teller("echo x >> $DTLAUNCH_STACK_FILE"));
  agent.expect_output(0, "ready");
  agent.send(Stop{SIGTERM, 10000});
  agent.expect<Exited>();
  EXPECT_FALSE(agent.has<Stack>());
}

}  // namespace
}  // namespace dtl::stack_file_test
