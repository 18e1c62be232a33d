#include "trainer/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <variant>

#include "base/error.h"
#include "base/text.h"
#include "trainer/demo.h"

namespace dtl::trainer {
namespace {

template <class T>
struct Number {
  T Settings::*member;
  T low, high;
};

using Target = std::variant<bool Settings::*, std::string Settings::*, Number<int>,
                            Number<std::int64_t>, Number<double>>;

struct Option {
  const char* group;
  const char* name;
  const char* value;  // what it takes; empty for yes or no
  Target target;
  const char* help;
};

constexpr double kHuge = 1e30;
constexpr std::int64_t kMany = std::int64_t{1} << 40;

Number<int> whole(int Settings::*member, int low, int high) {
  return {member, low, high};
}
Number<std::int64_t> whole(std::int64_t Settings::*member, std::int64_t low) {
  return {member, low, kMany};
}
Number<double> real(double Settings::*member, double low, double high) {
  return {member, low, high};
}

// The source of --help and of dttrain(1).
const std::vector<Option>& options() {
  using S = Settings;
  static const std::vector<Option> table = {
      {"Model and data", "model_name_or_path", "FOLDER", &S::model,
       "model folder: config.json, model.safetensors, vocabulary"},
      {"Model and data", "train_file", "FILE", &S::train_file,
       "labelled texts to train on (.tsv, .csv, .json, .jsonl)"},
      {"Model and data", "validation_file", "FILE", &S::validation_file,
       "labelled texts to evaluate on"},
      {"Model and data", "test_file", "FILE", &S::test_file, "texts to predict labels for"},
      {"Model and data", "output_dir", "FOLDER", &S::output_dir,
       "where model, metrics and logs go"},
      {"Model and data", "overwrite_output_dir", "", &S::overwrite_output_dir,
       "write into a folder that holds files already"},
      {"Model and data", "ignore_mismatched_sizes", "", &S::ignore_mismatched_sizes,
       "start a new classifier when the folder's has other labels"},
      {"Model and data", "max_seq_length", "N", whole(&S::max_seq_length, 3, 1 << 20),
       "tokens of an example; longer ones are cut (128)"},
      {"Model and data", "max_train_samples", "N", whole(&S::max_train_samples, 1),
       "use only the first N training examples"},
      {"Model and data", "max_eval_samples", "N", whole(&S::max_eval_samples, 1),
       "use only the first N evaluation examples"},
      {"What to do", "do_train", "", &S::do_train, "train"},
      {"What to do", "do_eval", "", &S::do_eval, "evaluate, after training if there is any"},
      {"What to do", "do_predict", "", &S::do_predict, "write the labels of --test_file"},
      {"What to do", "demo", "", &S::demo,
       "train a tiny model on built-in text, in less than a minute"},
      {"Training", "per_device_train_batch_size", "N", whole(&S::train_batch, 1),
       "examples of a rank and micro-batch (8)"},
      {"Training", "global_batch_size", "N", whole(&S::global_batch, 1),
       "examples of a step on all ranks; instead of the option above"},
      {"Training", "gradient_accumulation_steps", "N", whole(&S::accumulation, 1, 1 << 20),
       "micro-batches of a step (1)"},
      {"Training", "num_train_epochs", "X", real(&S::epochs, 0, 1e6),
       "passes over the training examples (3)"},
      {"Training", "max_steps", "N", whole(&S::max_steps, -1), "steps, instead of passes"},
      {"Training", "learning_rate", "X", real(&S::learning_rate, 0, kHuge),
       "highest learning rate (5e-5)"},
      {"Training", "lr_scheduler_type", "linear", &S::scheduler,
       "how the learning rate falls: linear"},
      {"Training", "warmup_steps", "N", whole(&S::warmup_steps, 0),
       "steps during which the learning rate rises"},
      {"Training", "warmup_ratio", "X", real(&S::warmup_ratio, 0, 1),
       "the same as a share of all steps"},
      {"Training", "weight_decay", "X", real(&S::weight_decay, 0, kHuge),
       "AdamW's decay of matrices (0)"},
      {"Training", "adam_beta1", "X", real(&S::adam_beta1, 0, 0.999999999),
       "decay of the gradients' mean (0.9)"},
      {"Training", "adam_beta2", "X", real(&S::adam_beta2, 0, 0.999999999),
       "decay of the squared gradients' mean (0.999)"},
      {"Training", "adam_epsilon", "X", real(&S::adam_epsilon, 0, kHuge),
       "added to the divisor (1e-8)"},
      {"Training", "max_grad_norm", "X", real(&S::max_grad_norm, 0, kHuge),
       "longer gradients are clipped to this norm (1); 0: never"},
      {"Training", "seed", "N", whole(&S::seed, 0), "of order, dropout and new weights (42)"},
      {"Evaluation and logs", "per_device_eval_batch_size", "N", whole(&S::eval_batch, 1),
       "examples a rank evaluates at once (8)"},
      {"Evaluation and logs", "logging_steps", "N", whole(&S::logging_steps, 1),
       "steps between two lines (about 20 lines in all)"},
      {"Evaluation and logs", "save_strategy", "WHEN", &S::save_strategy,
       "no: the model at the end only; epoch: also after each pass (no)"},
      {"Evaluation and logs", "debug_dump", "FOLDER", &S::debug_dump,
       "write the first step's gradients and the evaluation's logits"},
      {"Accepted, without effect", "use_cpu", "", &S::use_cpu, "there is nothing else"},
      {"Accepted, without effect", "no_cuda", "", &S::no_cuda, "the same"},
      {"Accepted, without effect", "ddp_backend", "NAME", &S::ddp_backend,
       "ranks talk through libdtring"},
  };
  return table;
}

bool is_flag(const std::string& word) {
  return std::any_of(options().begin(), options().end(), [&](const Option& option) {
    return std::holds_alternative<bool Settings::*>(option.target) &&
           word == std::string("--") + option.name;
  });
}

// --do-train is --do_train, and "--do_train True" is "--do_train=true": run_glue's parser takes
// both.
std::vector<std::string> canonical(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    std::string word = argument;
    if (word.starts_with("--")) {
      const auto end =
          word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size()));
      std::replace(word.begin() + 2, end, '-', '_');
    }
    const std::string lower = to_lower(word);
    if (!words.empty() && is_flag(words.back()) && (lower == "true" || lower == "false")) {
      words.back() += "=" + lower;
    } else {
      words.push_back(word);
    }
  }
  return words;
}

template <class T>
void add_number(CLI::App& app, const std::string& name, const Number<T>& number,
                Settings& settings) {
  app.add_option(name, settings.*number.member)->check(CLI::Range(number.low, number.high));
}

void add(CLI::App& app, const Option& option, Settings& settings) {
  const std::string name = std::string("--") + option.name;
  if (const auto* flag = std::get_if<bool Settings::*>(&option.target)) {
    app.add_flag(name, settings.**flag);
  } else if (const auto* text = std::get_if<std::string Settings::*>(&option.target)) {
    app.add_option(name, settings.**text);
  } else if (const auto* small = std::get_if<Number<int>>(&option.target)) {
    add_number(app, name, *small, settings);
  } else if (const auto* large = std::get_if<Number<std::int64_t>>(&option.target)) {
    add_number(app, name, *large, settings);
  } else {
    add_number(app, name, std::get<Number<double>>(option.target), settings);
  }
}

[[noreturn]] void reject_word(const std::string& word) {
  std::vector<std::string> known = {"--help", "--version"};
  for (const Option& option : options()) known.push_back(std::string("--") + option.name);
  const std::string near = nearest(word.substr(0, word.find('=')), known);
  throw Error(Exit::kUsage, fmt::format("unknown option \"{}\"", word),
              near.empty() ? "" : fmt::format("did you mean {}?", near),
              near.empty() ? "dttrain --help" : "");
}

void require(bool good, const std::string& attempted, const std::string& reason,
             const std::string& hint = {}) {
  if (!good) throw Error(Exit::kUsage, attempted, reason, hint);
}

void check(const Settings& s) {
  require(s.scheduler == "linear", fmt::format("--lr_scheduler_type {}", s.scheduler),
          "only linear is known");
  require(s.save_strategy == "no" || s.save_strategy == "epoch",
          fmt::format("--save_strategy {}", s.save_strategy), "only no and epoch are known");
  if (s.demo) return;  // brings its own model and text, and need not write
  require(s.do_train || s.do_eval || s.do_predict, "nothing to do",
          "none of --do_train, --do_eval and --do_predict is given", "dttrain --demo");
  require(!s.model.empty(), "no model", "--model_name_or_path is missing",
          "dttrain init, which makes one");
  require(!s.do_train || !s.train_file.empty(), "--do_train", "--train_file is missing");
  require(!s.do_eval || !s.validation_file.empty(), "--do_eval", "--validation_file is missing");
  require(!s.do_predict || !s.test_file.empty(), "--do_predict", "--test_file is missing");
  require(!s.output_dir.empty(), "no place for the results", "--output_dir is missing");
}

}  // namespace

Settings parse_settings(const std::vector<std::string>& arguments) {
  Settings settings;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("-h,--help", settings.help);
  app.add_flag("--version", settings.version);
  for (const Option& option : options()) add(app, option, settings);
  std::vector<std::string> words = canonical(arguments);
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw Error(Exit::kUsage, "bad command line", error.what(), "dttrain --help");
  }
  if (settings.help || settings.version) return settings;
  if (!app.remaining().empty()) reject_word(app.remaining().front());
  if (settings.demo) settings = demo_settings(settings);
  check(settings);
  return settings;
}

std::string help_text() {
  std::string text =
      "Usage: dttrain --model_name_or_path FOLDER --do_train --train_file FILE --output_dir "
      "FOLDER\n"
      "       dttrain --demo\n"
      "       dttrain init ...      (dttrain init --help)\n"
      "\n"
      "Fine-tunes a BERT or DistilBERT classifier on this machine's CPUs, or with others: each "
      "rank\n"
      "of a job runs the same command. Only rank 0 reads and writes files.\n";
  std::string group;
  for (const Option& option : options()) {
    if (group != option.group) text += fmt::format("\n{}:\n", group = option.group);
    text += fmt::format(
        "  {:<34} {}\n",
        fmt::format("--{}{}{}", option.name, *option.value ? " " : "", option.value), option.help);
  }
  text += "\nOther:\n";
  text += fmt::format("  {:<34} {}\n", "-h, --help", "this text");
  text += fmt::format("  {:<34} {}\n", "--version", "the version");
  return text;
}

}  // namespace dtl::trainer
