// The texts come from the rows of the option table, so they cannot contradict it.
#include "trainer/settings/help.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "trainer/settings/option_table.h"

namespace dtl::trainer {
namespace {

constexpr HelpLayout kLayout{.column = 32, .heading = ":"};

// Both texts lack the last newline: main() adds it.
constexpr std::string_view kUsage =
    "usage: dttrain --model_name_or_path FOLDER --train_file FILE --do_train\n"
    "               --output_dir FOLDER [option ...]\n"
    "       dttrain ARGUMENTS.json [option ...]      (or .toml)\n"
    "       dttrain init [option ...]                (make a model)\n"
    "       dttrain encode [option ...]              (write embeddings of texts)\n"
    "       dttrain --demo\n";

// Options that most users need, by row name. --help shows only these.
constexpr std::string_view kCommon[] = {
    "--model_name_or_path", "--train_file",     "--validation_file",
    "--test_file",          "--do_train",       "--do_eval",
    "--do_predict",         "--output_dir",     "--label_column_name",
    "--task_name",          "--max_seq_length", "--per_device_train_batch_size",
    "--num_train_epochs",   "--learning_rate",  "--task",
};

}  // namespace

bool in_short_help(const Option& option) {
  return std::any_of(std::begin(kCommon), std::end(kCommon), [&](std::string_view name) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  });
}

std::string help_text() {
  std::vector<Option> common;
  for (const std::string_view name : kCommon) {
    common.push_back(*find_option(option_table().options(), name, Spelling::kExact));
    common.back().group = "Most used options";
  }
  std::string text(kUsage);
  text +=
      "\n"
      "Fine-tunes encoders such as BERT and RoBERTa on CPUs, for labels, answers,\n"
      "search and other tasks (--task), with the options of Hugging Face's scripts.\n"
      "Under dtlaunch, each rank runs the same command; rank 0 reads and writes files.\n";
  text += options_text(common, kLayout);
  text +=
      "\n"
      "Examples:\n"
      "  dttrain init --train_file train.csv --output_dir model\n"
      "  dttrain --model_name_or_path model --train_file train.csv --do_train \\\n"
      "    --output_dir out\n"
      "\n"
      "More help:\n"
      "  dttrain --help-all    all options\n"
      "  man dttrain           the whole manual";
  return text;
}

std::string help_all_text() {
  std::vector<Option> options;
  for (const Option& option : option_table().options()) {
    if (option.traits.offered) options.push_back(option);
  }
  std::string text(kUsage);
  text += options_text(options, kLayout);
  text +=
      "\n"
      "Other options of transformers' TrainingArguments are accepted without effect, or\n"
      "refused with a reason: dttrain(1) lists them.";
  return text;
}

std::string all_rows_text() {
  return options_text(option_table().options(), kLayout);
}

}  // namespace dtl::trainer
