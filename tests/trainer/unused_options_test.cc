#include "trainer/settings/unused_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::unused_options_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::vector<std::string> lines(const std::vector<std::string>& extra) {
  std::vector<std::string> words = {
      "--model_name_or_path", "m", "--do_train", "--train_file", "t.tsv", "--output_dir", "out"};
  words.insert(words.end(), extra.begin(), extra.end());
  return parse_settings(words).notices;
}

// training_args.json lists them all.
TEST(UnusedOptions, AreNotTheDefaultsOfAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("args.json", R"({"eval_steps": 500, "save_steps": 500,
      "eval_delay": 0, "save_strategy": "no", "pad_to_max_length": true, "logging_steps": 7,
      "logging_strategy": "no"})");
  const std::vector<std::string> words = {
      path,    "--model_name_or_path", "m",  "--do_train", "--train_file",
      "t.tsv", "--output_dir",         "out"};
  EXPECT_THAT(parse_settings(words).notices,
              ElementsAre(StartsWith("--logging_steps has no effect here: ")));
  std::vector<std::string> typed = words;
  typed.insert(typed.end(), {"--eval_delay", "0"});
  EXPECT_THAT(parse_settings(typed).notices,
              UnorderedElementsAre(StartsWith("--logging_steps has no effect here: "),
                                   StartsWith("--eval_delay has no effect here: ")));
}

TEST(UnusedOptions, AreThoseThatAnotherOptionTurnsOff) {
  const std::vector<std::vector<std::string>> without_effect = {
      {"--logging_steps", "5", "--logging_strategy", "no"},
      {"--logging_first_step", "--logging_strategy", "no"},
      {"--num_train_epochs", "5", "--max_steps", "9"},
      {"--adam_beta1", "0.8", "--optim", "sgd"},
      {"--adam_beta2", "0.8", "--optim", "adafactor"},
      {"--adam_epsilon", "1e-6", "--optim", "lion"},
      {"--warmup_steps", "5", "--lr_scheduler_type", "constant"},
      {"--warmup_ratio", "0.1", "--lr_scheduler_type", "constant"},
      {"--warmup_ratio", "0.1", "--warmup_steps", "5"},
      {"--bf16_full_eval", "emulate"},
      {"--metric_for_best_model", "accuracy"},
      {"--save_only_model", "--save_strategy", "no"}};
  for (const std::vector<std::string>& options : without_effect) {
    EXPECT_THAT(lines(options), ElementsAre(StartsWith(options[0] + " has no effect here: ")))
        << options[0];
  }
}

TEST(UnusedOptions, AreNotThoseWithAnEffect) {
  EXPECT_THAT(lines({"--logging_steps", "5", "--logging_strategy", "steps"}), IsEmpty());
  EXPECT_THAT(lines({"--logging_steps", "5", "--logging_strategy", "no", "--eval_strategy", "steps",
                     "--validation_file", "v.tsv"}),
              IsEmpty());
  EXPECT_THAT(lines({"--adam_beta1", "0.8", "--optim", "lion"}), IsEmpty());
  EXPECT_THAT(lines({"--warmup_ratio", "0.1", "--lr_scheduler_type", "constant_with_warmup"}),
              IsEmpty());
  EXPECT_THAT(lines({"--metric_for_best_model", "accuracy", "--eval_strategy", "epoch",
                     "--validation_file", "v.tsv"}),
              IsEmpty());
  EXPECT_THAT(lines({"--freeze_layers", "2"}), IsEmpty());
}

}  // namespace
}  // namespace dtl::trainer::unused_options_test
