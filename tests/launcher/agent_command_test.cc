#include "launcher/agents/agent_command.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dtl {
namespace {

using testing::HasSubstr;

Bundle small_bundle() {
  return {"0.1.0-0123456789abcdef", {{"dtagent", "12345", "aa"}, {"dtguard", "6", "bb"}}};
}

// csh reads ! and ends quotes at a newline, fish reads \ between single quotes.
void expect_safe_for_any_shell(const std::string& command) {
  const std::string kPrefix = "exec sh -c '";
  ASSERT_TRUE(command.starts_with(kPrefix) && command.ends_with("'")) << command;
  const std::string script = command.substr(kPrefix.size(), command.size() - kPrefix.size() - 1);
  EXPECT_EQ(script.find_first_of("'!\\\n"), std::string::npos) << script;
}

TEST(AgentCommand, MeansTheSameToEveryLoginShell) {
  expect_safe_for_any_shell(agent_command("/opt/bin/dtagent", "--stdio"));
  expect_safe_for_any_shell(
      push_command("/opt/bin/dtagent", small_bundle(), "00ff", AfterPush::kServe));
  expect_safe_for_any_shell(
      push_command("/opt/bin/dtagent", small_bundle(), "00ff", AfterPush::kSayWhere));
  expect_safe_for_any_shell(remove_command());
}

TEST(AgentCommand, PromisesEveryFileOfTheBundle) {
  const std::string command =
      push_command("/opt/bin/dtagent", small_bundle(), "00ff", AfterPush::kServe);
  EXPECT_THAT(command, HasSubstr("head -c 5 "));
  EXPECT_THAT(command, HasSubstr("--receive 0.1.0-0123456789abcdef dtagent:5:aa dtguard:1:bb;"));
}

TEST(AgentCommand, RefusesPathsThatAShellWouldRead) {
  EXPECT_THROW(check_agent_path("/opt/my programs/dtagent"), Error);
  EXPECT_THROW(check_agent_path("bin/dtagent"), Error);
  EXPECT_NO_THROW(check_agent_path("/opt/x-1.2/bin/dtagent"));
}

TEST(Trainer, IsTheProgramOfThatNameAlone) {
  EXPECT_TRUE(runs_pushed_trainer({"dttrain", "--demo"}));
  EXPECT_FALSE(runs_pushed_trainer({"/opt/dttrain"}));
  EXPECT_FALSE(runs_pushed_trainer({}));
}

}  // namespace
}  // namespace dtl
