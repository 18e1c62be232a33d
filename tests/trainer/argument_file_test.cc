#include "trainer/settings/argument_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "temporary_folder.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer::argument_file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ArgumentFile : public testing::Test {
 protected:
  std::string complaint(const std::string& name, const std::string& bytes) const {
    try {
      parse_settings({folder_.write(name, bytes)});
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kUsage) << error.what();
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(ArgumentFile, MayBeJson) {
  const Settings s = parse_settings({folder_.write("args.json", R"({
      "model_name_or_path": "m", "train_file": "t.csv", "output_dir": "o", "do_train": true,
      "do_eval": false, "learning_rate": 3e-5, "max_steps": -1, "bf16": true, "fp16": false,
      "validation_file": null, "cache_dir": "", "resume_from_checkpoint": true,
      "report_to": ["tensorboard"], "num_train_epochs": 2})")});
  EXPECT_TRUE(s.do_train);
  EXPECT_FALSE(s.do_eval);
  EXPECT_DOUBLE_EQ(s.learning_rate, 3e-5);
  EXPECT_DOUBLE_EQ(s.epochs, 2);
  EXPECT_EQ(s.bf16, "true");
  EXPECT_EQ(s.resume_from_checkpoint, "true");
  EXPECT_EQ(s.report_to, "tensorboard");
  EXPECT_THAT(s.notices, ElementsAre(HasSubstr("with these values: fp16")));
}

TEST_F(ArgumentFile, MayHaveListsAndObjectsAsTransformersWritesThem) {
  const Settings s = parse_settings({folder_.write("args.json", R"({
      "model_name_or_path": "m", "train_file": "t.csv", "output_dir": "o", "do_train": true,
      "report_to": [], "logging_dir": "l", "label_names": ["a", "b"], "debug": [],
      "gradient_checkpointing_kwargs": {}, "liger_kernel_config": {"rope": true}})")});
  EXPECT_EQ(s.report_to, "none");
  EXPECT_THAT(s.notices, ElementsAre(HasSubstr("--label_names has no effect"),
                                     HasSubstr("--liger_kernel_config has no effect")));
}

TEST_F(ArgumentFile, MayBeToml) {
  const Settings s =
      parse_settings({folder_.write("args.toml",
                                    "model_name_or_path = 'm'\ntrain_file = 't.csv'\n"
                                    "output-dir = 'o'  # dashes, too\n"
                                    "do_train = true\nlearning_rate = 3e-5\n"
                                    "seed = 7\n")});
  EXPECT_TRUE(s.do_train);
  EXPECT_DOUBLE_EQ(s.learning_rate, 3e-5);
  EXPECT_EQ(s.seed, 7);
  EXPECT_EQ(s.output_dir, "o");
}

TEST_F(ArgumentFile, GivesWayToOptionsBehindIt) {
  const std::string path = folder_.write(
      "args.json",
      R"({"model_name_or_path": "m", "train_file": "t.csv", "output_dir": "o", "do_train": true,
          "seed": 7, "overwrite_output_dir": true})");
  const Settings s = parse_settings({path, "--seed", "8", "--overwrite_output_dir=false"});
  EXPECT_EQ(s.seed, 8);
  EXPECT_FALSE(s.overwrite_output_dir);
  EXPECT_EQ(s.model, "m");
}

TEST_F(ArgumentFile, IsNamedWithTheKeyThatIsWrong) {
  EXPECT_THAT(complaint("a.json", R"({"learning_rat": 1})"),
              HasSubstr("a.json:1:18: \"learning_rat\": 1: no option has this name. "
                        "Try: \"learning_rate\": 1"));
  EXPECT_THAT(complaint("a.json", R"({"seed": "many"})"), HasSubstr("a.json:1:10: "));
  EXPECT_THAT(complaint("a.json", R"({"seed": {"a": 1}})"),
              HasSubstr("\"seed\": {\"a\":1}: must be"));
  EXPECT_THAT(complaint("a.json", R"({"fp16": true})"),
              HasSubstr("without loss scaling. Try: \"bf16\": true"));
  EXPECT_THAT(complaint("a.json", R"({"help": true})"),
              HasSubstr("\"help\": true: no file has this option. Try: dttrain --help"));
  EXPECT_THAT(complaint("a.json", R"({"do_train": "perhaps"})"), HasSubstr("neither true nor"));
  EXPECT_THAT(complaint("b.toml", "\nseed = -1\n"), HasSubstr("b.toml:2:8: seed = -1: "));
  EXPECT_THAT(complaint("b.toml", "\n\nsedd = 1\n"),
              HasSubstr("b.toml:3:8: sedd = 1: no option has this name. Try: seed = 1"));
}

TEST_F(ArgumentFile, IsNamedWhereItsOptionsDoNotFitTogether) {
  EXPECT_THAT(complaint("a.json", "{\n\"save_strategy\": \"best\"}"),
              HasSubstr("a.json:2:18: \"save_strategy\": \"best\": needs evaluations, but "
                        "--eval_strategy is no. Try: \"eval_strategy\": \"epoch\""));
  EXPECT_THAT(complaint("b.toml", "do_train = true\nmodel_name_or_path = 'm'\n"),
              HasSubstr("b.toml:1:12: do_train = true: needs --train_file. "
                        "Try: train_file = \"FILE\""));
  EXPECT_THAT(complaint("b.toml", "do_train = true\n"),
              HasSubstr("b.toml: --model_name_or_path: missing"));
}

TEST_F(ArgumentFile, DoesNotAnswerForTheCommandLine) {
  try {
    parse_settings({folder_.write("a.toml", "do_eval = true\nmodel_name_or_path = 'm'\n"),
                    "--do_eval=false", "--do_train"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--do_train: needs --train_file. Try: --train_file FILE");
  }
}

// Texts are true in transformers, and "yes" is on the command line.
TEST_F(ArgumentFile, HasFlagsThatAreTrueOrFalse) {
  for (const char* value : {"\"yes\"", "\"true\"", "1"}) {
    EXPECT_THAT(complaint("a.json", fmt::format("{{\"do_train\": {}}}", value)),
                HasSubstr(fmt::format("\"do_train\": {}: neither true nor false. "
                                      "Try: \"do_train\": true",
                                      value)));
    EXPECT_THAT(complaint("a.toml", fmt::format("do_train = {}", value)),
                HasSubstr(fmt::format("a.toml:1:12: do_train = {}: neither true nor false. "
                                      "Try: do_train = true",
                                      value)));
  }
  EXPECT_THAT(complaint("a.toml", "do_train = 'no'"), HasSubstr("Try: do_train = false"));
  EXPECT_TRUE(parse_settings({"--do_eval", "yes", "--help"}).do_eval);
}

TEST_F(ArgumentFile, SuggestsTheWordThatWasMeant) {
  EXPECT_THAT(complaint("a.toml", "eval_strategy = 'epochs'"),
              HasSubstr("not one of no, steps, epoch. Try: eval_strategy = \"epoch\""));
}

// As `dtlaunch` has turned it into words.
TEST_F(ArgumentFile, MayBeATableOfAJobFile) {
  const auto said = [](const std::vector<std::string>& words,
                       const std::vector<OptionPlace>& places) -> std::string {
    try {
      parse_settings(words, places);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(
      said({"--learning-rate", "x"}, {{"learning-rate", "j.toml:2:5", "learning-rate = x"}}),
      HasSubstr("j.toml:2:5: learning-rate = x: not a number"));
  EXPECT_EQ(said({"--max_stepz", "3"}, {{"max_stepz", "j.toml:2:5", "max_stepz = 3"}}),
            "j.toml:2:5: max_stepz = 3: no option has this name. Try: max_steps = 3");
  EXPECT_EQ(said({"--do_train", "yes"}, {{"do_train", "j.toml:2:5", "do_train = \"yes\""}}),
            "j.toml:2:5: do_train = \"yes\": neither true nor false. Try: do_train = true");
  EXPECT_EQ(said({"--seed", "x"}, {{"do_train", "j.toml:2:5", "do_train = true"}}).find("--seed x"),
            0U);
}

TEST_F(ArgumentFile, MustBeAnObject) {
  EXPECT_THAT(complaint("a.json", "[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(complaint("a.json", "{\n\"seed\": 1,,}"),
              HasSubstr("a.json:2:11: cannot read the options: it is not JSON"));
  EXPECT_THAT(complaint("b.toml", "seed 1\n"), HasSubstr("b.toml:1"));
  EXPECT_THAT(complaint("b.toml", "# nothing\n"), HasSubstr("b.toml:1: the file is empty. Try: "));
  EXPECT_THAT(complaint("a.json", ""), HasSubstr("a.json:1:1: "));
}

TEST_F(ArgumentFile, MayNotNestDeeply) {
  const std::string nested = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(complaint("a.json", "{\"seed\": " + nested + "}"),
              HasSubstr("a.json: its lists and objects nest too deep"));
}

TEST_F(ArgumentFile, MustBeThere) {
  try {
    parse_settings({folder_.file("none.json")});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("none.json"));
  }
}

}  // namespace
}  // namespace dtl::trainer::argument_file_test
