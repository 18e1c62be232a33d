#include "plan/command_text.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace dtl::command_text_test {
namespace {

std::string shown(const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment = {}) {
  return join(shown_arguments(arguments, environment), " ");
}

TEST(CommandText, QuotesForAShell) {
  EXPECT_EQ(shown({"python3", "a b.py", "", "it's", "--lr=1e-4"}),
            "python3 'a b.py' '' 'it'\\''s' --lr=1e-4");
}

TEST(CommandText, SendsNoControlBytesToATerminal) {
  EXPECT_EQ(shown({"a\x1b[31m\n"}), "'a?[31m?'");
}

TEST(CommandText, MasksTheValuesOfSecretOptions) {
  EXPECT_EQ(shown({"x", "--hub_token", "abc", "--api-key=def", "DB_PASSWORD=p", "end"}),
            "x --hub_token '***' '--api-key=***' 'DB_PASSWORD=***' end");
}

TEST(CommandText, MasksSecretsWithinAnArgument) {
  EXPECT_EQ(shown({"sh", "-c", "x --password=p && y --token q r; A_TOKEN='a b' z"}),
            "sh -c 'x --password=*** && y --token *** r; A_TOKEN=*** z'");
  EXPECT_EQ(shown({"get", "http://host/?a=1&token=secret"}), "get 'http://host/?a=1&token=***'");
  EXPECT_EQ(shown({"curl", "-H", "Authorization: Bearer abc"}), "curl -H 'Authorization: ***'");
  EXPECT_EQ(shown({"sh", "-c", "curl -H 'authorization: x y' h"}),
            "sh -c 'curl -H '\\''authorization: ***'\\'' h'");
}

TEST(CommandText, MasksPasswordsOfUrls) {
  EXPECT_EQ(shown({"x", "postgres://me:hunter2@db:5432/a", "--url=https://u:p:q@h"}),
            "x 'postgres://me:***@db:5432/a' '--url=https://u:***@h'");
  EXPECT_EQ(shown({"git", "clone", "https://ghp_abc@github.com/x"}),
            "git clone 'https://***@github.com/x'");
  EXPECT_EQ(shown({"x", "ssh://me@host/a:b@c", "tcp://h:1", "me@host:dir"}),
            "x ssh://me@host/a:b@c tcp://h:1 me@host:dir");
}

TEST(CommandText, LeavesScriptsWithoutSecretsAlone) {
  const std::vector<std::string> script = {"-c",
                                           "a=1; b -k 'x  y' | c --tokens 5,\n  \"q\" ( --key"};
  EXPECT_EQ(masked_arguments(script, {}), script);
}

TEST(CommandText, LeavesTheWordsAsTheyAreWhenNotForATerminal) {
  const std::vector<std::string> arguments = {"a b", "--hub_token=x", "line\n"};
  EXPECT_EQ(masked_arguments(arguments, {}),
            (std::vector<std::string>{"a b", "--hub_token=***", "line\n"}));
}

TEST(CommandText, ShowsOptionsThatOnlySoundSecret) {
  EXPECT_EQ(shown({"--tokenizer_name", "bert", "--max_tokens=5", "--keyboard", "us"}),
            "--tokenizer_name bert --max_tokens=5 --keyboard us");
}

TEST(CommandText, MasksSecretsOfTheEnvironmentWhereverTheyStand) {
  EXPECT_EQ(shown({"sh", "-c", "login hf_123456"}, {"HF_TOKEN=hf_123456", "SHORT_KEY=sh"}),
            "sh -c 'login ***'");
}

}  // namespace
}  // namespace dtl::command_text_test
