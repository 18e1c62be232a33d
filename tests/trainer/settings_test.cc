#include "trainer/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "trainer/settings/help.h"
#include "trainer/settings/option_table.h"

namespace dtl::trainer::settings_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> with(std::vector<std::string> extra) {
  std::vector<std::string> words = {
      "--model_name_or_path", "m", "--do_train", "--train_file", "t.tsv", "--output_dir", "out"};
  words.insert(words.end(), extra.begin(), extra.end());
  return words;
}

std::string complaint(const std::vector<std::string>& arguments) {
  try {
    parse_settings(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "";
}

TEST(Settings, HaveRunGluesDefaults) {
  const Settings s = parse_settings(with({}));
  EXPECT_EQ(s.model, "m");
  EXPECT_TRUE(s.do_train);
  EXPECT_FALSE(s.do_eval);
  EXPECT_EQ(s.train_batch, 8);
  EXPECT_DOUBLE_EQ(s.learning_rate, 5e-5);
  EXPECT_DOUBLE_EQ(s.epochs, 3.0);
  EXPECT_EQ(s.seed, 42);
}

TEST(Settings, TakeValuesInBothSpellings) {
  const Settings s = parse_settings(
      with({"--learning_rate=1e-3", "--max_steps", "-1", "--per-device-train-batch-size", "4"}));
  EXPECT_DOUBLE_EQ(s.learning_rate, 1e-3);
  EXPECT_EQ(s.max_steps, -1);
  EXPECT_EQ(s.train_batch, 4);
}

TEST(Settings, TakeTrueAndFalseAfterAFlag) {
  const Settings s =
      parse_settings(with({"--do_eval", "False", "--overwrite_output_dir", "true", "--no-cuda"}));
  EXPECT_FALSE(s.do_eval);
  EXPECT_TRUE(s.overwrite_output_dir);
  EXPECT_THAT(s.notices, ElementsAre(HasSubstr("--no_cuda has no effect here")));
}

TEST(Settings, RefuseWhatIsNoNumberForEachOptionThatTakesOne) {
  int numbers = 0;
  for (const Option& option : option_table().options()) {
    if (option.value != "N" && option.value != "X") continue;
    if (option.group == "Accepted, without effect") continue;
    ++numbers;
    for (const char* text : {"nan", "-nan", "inf", "-inf", "1e999", "0x", "1 "}) {
      EXPECT_THAT(complaint(with({std::string(option.names.back()), text})),
                  HasSubstr(std::string(option.names.back())))
          << text;
    }
  }
  EXPECT_GT(numbers, 20);
}

TEST(Settings, KeepDashesInValues) {
  EXPECT_EQ(parse_settings(with({"--validation_file", "a-b.tsv"})).validation_file, "a-b.tsv");
  EXPECT_EQ(parse_settings(with({"--validation_file=a-b.tsv"})).validation_file, "a-b.tsv");
}

TEST(Settings, NameTheNearestOptionForAMisspeltOne) {
  EXPECT_THAT(complaint(with({"--learning_rat", "1"})),
              HasSubstr("unknown option. Try: --learning_rate"));
  EXPECT_THAT(complaint(with({"word"})), HasSubstr("word: not an option"));
  EXPECT_THAT(complaint({"inti"}), HasSubstr("inti: not an option. Try: dttrain init"));
  EXPECT_THAT(complaint(with({"--lr", "1"})), HasSubstr("option. Try: --learning_rate"));
  EXPECT_THAT(complaint(with({"--epochs", "1"})), HasSubstr("option. Try: --num_train_epochs"));
  EXPECT_THAT(complaint(with({"--batch-size", "1"})),
              HasSubstr("option. Try: --per_device_train_batch_size"));
  EXPECT_THAT(complaint(with({"--model", "x"})), HasSubstr("option. Try: --model_name_or_path"));
}

TEST(Settings, RefuseValuesThatMakeNoSense) {
  EXPECT_THAT(complaint(with({"--seed", "many"})), HasSubstr("--seed"));
  EXPECT_THAT(complaint(with({"--per_device_train_batch_size", "0"})),
              HasSubstr("--per_device_train_batch_size"));
  EXPECT_THAT(complaint(with({"--lr_scheduler_type", "greedy"})),
              HasSubstr("constant_with_warmup"));
  EXPECT_THAT(complaint(with({"--learning_rate"})), HasSubstr("--learning_rate"));
}

TEST(Settings, SayWhatIsMissing) {
  EXPECT_THAT(complaint({}), HasSubstr("nothing to do"));
  EXPECT_THAT(complaint({"--do_train"}), HasSubstr("--model_name_or_path: missing"));
  EXPECT_THAT(complaint(with({"--do_eval"})), HasSubstr("needs --validation_file"));
}

TEST(Settings, NeedNothingElseForTheDemonstration) {
  const Settings s = parse_settings({"--demo", "--seed", "7"});
  EXPECT_TRUE(s.do_train);
  EXPECT_TRUE(s.do_eval);
  EXPECT_EQ(s.seed, 7);
}

TEST(Help, FitsAScreenOfEightyColumns) {
  const std::vector<std::string> lines = split(help_text(), '\n');
  EXPECT_LE(lines.size(), 45U);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Help, AllOfItLeavesOutOptionsWithoutEffect) {
  const std::string text = help_all_text();
  for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 80U) << line;
  for (const Option& option : option_table().options()) {
    const std::string row = "\n  " + std::string(option.names.front());
    bool is_shown = false;
    for (const char end : {',', ' ', '\n'}) is_shown |= text.find(row + end) != text.npos;
    EXPECT_EQ(is_shown, option.traits.offered) << row;
  }
}

}  // namespace
}  // namespace dtl::trainer::settings_test
