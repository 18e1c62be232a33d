// Colours change nothing but the look: without their escapes, the text is the same.
#include "launcher/screen/terminal_color.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>

#include "base/error.h"
#include "base/text.h"
#include "launcher/doctor/doctor_text.h"
#include "launcher/job/job_outcome.h"
#include "launcher/options/output_choice.h"

namespace dtl::terminal_color_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string without_escapes(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

std::string card(int columns) {
  Outcome outcome;
  outcome.cause = Cause::kRankExit;
  outcome.rank = 3;
  outcome.exit_status = 1;
  CardFacts facts;
  facts.host = "n2";
  facts.pid = 7;
  facts.program = "python3";
  facts.last_lines = {"  try me",
                      "a line that is much longer than the terminal on which it is shown"};
  facts.stopped = {0, 1, 2};
  return failure_card(outcome, facts, columns);
}

TEST(TerminalColor, LeavesTheTextOfACardAsItIs) {
  for (const int columns : {0, 40, 80}) {
    EXPECT_EQ(without_escapes(colored_card(card(columns))), card(columns));
  }
}

TEST(TerminalColor, ColoursTheHeadlineAndTheCommandToTry) {
  EXPECT_EQ(colored_card("rank 3 failed\n  stderr   |   try me\n           | x\n  try      ls"),
            "\x1b[1;31mrank 3 failed\x1b[0m\n  stderr   |   try me\n           | x\n"
            "  \x1b[1mtry      ls\x1b[0m");
}

std::vector<Finding> findings() {
  return {{Level::kError,
           "login",
           {"n1"},
           "a text that is long enough to need more lines than one on a terminal this narrow",
           "a command that is also long enough for more than one line of the terminal",
           77},
          {Level::kWarning, "clock", {"n2"}, "late", "", 0}};
}

TEST(TerminalColor, LeavesTheFindingsAsTheyAre) {
  for (const int columns : {40, 80, 200}) {
    EXPECT_EQ(without_escapes(doctor_text(findings(), 2, false, columns, true)),
              doctor_text(findings(), 2, false, columns, false));
  }
  EXPECT_THAT(doctor_text(findings(), 2, false, 80, false), Not(HasSubstr("\x1b")));
}

TEST(TerminalColor, ColoursErrorsAndEachLineOfTheFix) {
  const std::string text = doctor_text(findings(), 2, false, 50, true);
  EXPECT_THAT(text, HasSubstr("\x1b[1;31merror\x1b[0m    n1: login"));
  EXPECT_THAT(text, HasSubstr("\n         \x1b[1mTry: a command"));
  EXPECT_THAT(text, HasSubstr("\nwarning  n2"));
  for (const std::string& line : split(text, '\n')) {
    EXPECT_EQ(line.find("\x1b[1m") != line.npos, line.ends_with("\x1b[0m")) << line;
  }
}

TEST(TerminalColor, ComesOnlyToTerminalsUnlessAskedFor) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  EXPECT_FALSE(wants_color(ColorMode::kAuto, pipes[1]));
  EXPECT_FALSE(wants_color(ColorMode::kNever, pipes[1]));
  EXPECT_TRUE(wants_color(ColorMode::kAlways, pipes[1]));
  ::close(pipes[0]);
  ::close(pipes[1]);
}

TEST(TerminalColor, NamesTheVariableWithABadValue) {
  EXPECT_EQ(parse_color("", "DTL_COLOR="), ColorMode::kAuto);
  try {
    parse_color("alway", "DTL_COLOR=alway");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "DTL_COLOR=alway: not one of auto, always, never. Try: --color always");
  }
}

}  // namespace
}  // namespace dtl::terminal_color_test
