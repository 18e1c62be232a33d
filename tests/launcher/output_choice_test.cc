#include "launcher/options/output_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launcher/session/error_file.h"

namespace dtl::output_choice_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OutputChoice, ShowsTheRanksThatAreNamed) {
  OutputChoice choice;
  choice.only = "0,3-5";
  EXPECT_THAT(console_options(choice, "/").only, ElementsAre(0, 3, 4, 5));
  choice.only = "none";
  EXPECT_TRUE(console_options(choice, "/").hide_all);
  for (const char* wrong : {"5-3", "a", "1,", "-1", ""}) {
    choice.only = wrong;
    if (choice.only.empty()) {
      EXPECT_THAT(console_options(choice, "/").only, IsEmpty());
    } else {
      EXPECT_THROW(console_options(choice, "/"), Error) << wrong;
    }
  }
}

TEST(OutputChoice, KnowsTheWordsOfOpenMpi) {
  OutputChoice choice;
  choice.mode = "tag,timestamp,dir=logs";
  const ConsoleOptions options = console_options(choice, "/home/u");
  EXPECT_EQ(options.mode, OutputMode::kAuto);
  EXPECT_EQ(options.log_directory, "/home/u/logs");
  LabelFacts facts;
  facts.rank = "3";
  const std::string label = options.label.text(facts, Stream::kStdout, 0);
  EXPECT_TRUE(label.ends_with("1970[1,3]<stdout>:") || label.ends_with("1969[1,3]<stdout>:"));
  choice.mode = "xml";
  EXPECT_THROW(console_options(choice, "/"), Error);
  choice.mode = "block";
  EXPECT_EQ(console_options(choice, "/").mode, OutputMode::kBlock);
}

TEST(OutputChoice, TakesOpenMpisDirectivesOffTheFolder) {
  OutputChoice choice;
  choice.log_directory = "/logs:nocopy";
  EXPECT_EQ(console_options(choice, "/").log_directory, "/logs");
  EXPECT_TRUE(console_options(choice, "/").hide_all);
  choice.log_directory = "/logs:nojobid";
  EXPECT_EQ(console_options(choice, "/").log_directory, "/logs");
  EXPECT_FALSE(console_options(choice, "/").hide_all);
}

TEST(OutputChoice, GivesInputToOneToAllOrToNobody) {
  OutputChoice choice;
  EXPECT_EQ(input_choice(choice).mode, InputMode::kOne);
  EXPECT_EQ(input_choice(choice).rank, 0);
  choice.input = "12";
  EXPECT_EQ(input_choice(choice).rank, 12);
  choice.input = "all";
  EXPECT_EQ(input_choice(choice).mode, InputMode::kAll);
  choice.input = "none";
  EXPECT_EQ(input_choice(choice).mode, InputMode::kNone);
  choice.input = "-1";
  EXPECT_THROW(input_choice(choice), Error);
}

TEST(ErrorFile, IsReadAsTorchWritesIt) {
  EXPECT_THAT(traceback_of(R"({"message": {"message": "E", "extraInfo":
                               {"py_callstack": "Traceback:\n  at\n\nE: no\n"}}})"),
              ElementsAre("Traceback:", "  at", "E: no"));
  EXPECT_THAT(traceback_of(R"({"message": {"message": "E: no"}})"), ElementsAre("E: no"));
  EXPECT_THAT(traceback_of(R"({"message": "E: no"})"), ElementsAre("E: no"));
}

TEST(ErrorFile, MayHoldAnything) {
  for (const char* file : {"", "{", "[]", "7", R"({"message": 7})", R"({"message": {}})",
                           R"({"message": {"extraInfo": {"py_callstack": 7}}})"}) {
    EXPECT_THAT(traceback_of(file), IsEmpty()) << file;
  }
  std::string deep(100000, '[');
  EXPECT_THAT(traceback_of(deep), IsEmpty());
}

}  // namespace
}  // namespace dtl::output_choice_test
