#include "plan/command_text.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace dtl {
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
}  // namespace dtl
