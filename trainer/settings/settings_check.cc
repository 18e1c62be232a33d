// Rules between options. Each error says which option, why, and what to write instead; nothing that
// the user set is changed silently. Every rank runs the same checks.
#include "trainer/settings/settings_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "trainer/settings/classification_options.h"
#include "trainer/settings/embedding_options.h"
#include "trainer/settings/optim_args.h"
#include "trainer/settings/schedule_options.h"
#include "trainer/settings/task_rules.h"

namespace dtl::trainer {
namespace {

constexpr std::array<const char*, 9> kGlueTasks = {"cola", "mnli", "mrpc", "qnli", "qqp",
                                                   "rte",  "sst2", "stsb", "wnli"};

void require(bool good, const std::string& attempted, const std::string& reason,
             const std::string& hint = "dttrain --help") {
  if (!good) throw Error(Exit::kUsage, attempted, reason, hint);
}

bool is_glue(const std::string& task) {
  return std::find(kGlueTasks.begin(), kGlueTasks.end(), task) != kGlueTasks.end();
}
bool is_squad(const std::string& task) {
  return task == "squad" || task == "squad_v2";
}
// run_ner's names, which only choose its column of tags.
bool is_tagging(const std::string& task) {
  return task == "ner" || task == "pos" || task == "chunk";
}

// The --task that a --task_name implies.
std::string task_of_name(const std::string& name) {
  return is_squad(name) ? "qa" : is_tagging(name) ? "token_classification" : "classification";
}

void check_task_name(Settings& s) {
  if (s.task_name.empty()) return;
  const std::string typed = "--task_name " + s.task_name;
  s.task_name = to_lower(s.task_name);
  if (is_glue(s.task_name) || is_squad(s.task_name) || is_tagging(s.task_name)) return;
  std::vector<std::string> known(kGlueTasks.begin(), kGlueTasks.end());
  known.insert(known.end(), {"squad", "squad_v2", "ner", "pos", "chunk"});
  const std::string near = nearest(s.task_name, known);
  throw Error(Exit::kUsage, typed, "not one of " + join(known, ", "),
              near.empty() ? "dttrain --help" : "--task_name " + near);
}

bool is_better_low(const std::string& metric) {
  constexpr std::array<std::string_view, 4> kErrors = {"perplexity", "mse", "rmse", "mae"};
  return metric.ends_with("loss") ||
         std::find(kErrors.begin(), kErrors.end(), metric) != kErrors.end();
}

struct GivenFile {
  const char* option = "--train_file";
  std::string path;  // empty: none is given
};

GivenFile first_given_file(const Settings& s) {
  if (!s.train_file.empty()) return {"--train_file", s.train_file};
  if (!s.validation_file.empty()) return {"--validation_file", s.validation_file};
  if (!s.test_file.empty()) return {"--test_file", s.test_file};
  return {};
}

std::string first_file(const Settings& s) {
  return first_given_file(s).path;
}

// The task that has all of these options, if there is one; else the first one's.
std::string task_with(const std::vector<TaskOption>& used) {
  for (const TaskRules& rules : all_task_rules()) {
    if (std::all_of(used.begin(), used.end(), [&](const TaskOption& option) {
          return std::find(option.tasks.begin(), option.tasks.end(), rules.name) !=
                 option.tasks.end();
        })) {
      return std::string(rules.name);
    }
  }
  return std::string(used.front().tasks.front());
}

// The task according to the options; auto if only the data can tell.
std::string task_of_options(Settings& s) {
  if (s.task != "auto") return s.task;
  if (!s.task_name.empty()) return task_of_name(s.task_name);
  const std::string file = to_lower(first_file(s));
  if (file.ends_with(".conll") || file.ends_with(".iob") || file.ends_with(".bio")) {
    return "token_classification";
  }
  const std::vector<TaskOption> used = used_task_options(s);
  if (!used.empty()) {
    const std::string task = task_with(used);
    s.task_option = used.front().name;
    const bool tables = file.ends_with(".csv") || file.ends_with(".tsv");
    require(task != "qa" || !tables, fmt::format("--{}", s.task_option),
            fmt::format("only for {}, whose files are SQuAD's .json, and not {}",
                        task_rules(task).words, first_file(s)),
            fmt::format("{} FILE.json", first_given_file(s).option));
    return task;
  }
  // SQuAD files are .json, not .jsonl, .csv or .tsv.
  return first_file(s).ends_with(".json") ? "auto" : "classification";
}

void check_task(const Settings& s) {
  if (!s.task_name.empty() && s.task != "auto") {
    const std::string own = task_of_name(s.task_name);
    require(s.task == own, "--task " + s.task,
            fmt::format("--task_name {} is a {} task", s.task_name, task_rules(own).words),
            "--task " + own);
  }
  for (const TaskOption& option : used_task_options(s)) {
    const auto& tasks = option.tasks;
    std::string other =
        s.task_option.empty() || s.task_option == option.name ? "" : "--" + s.task_option;
    if (!s.task_name.empty()) other = "--task_name " + s.task_name;
    require(s.task == "auto" || std::find(tasks.begin(), tasks.end(), s.task) != tasks.end(),
            fmt::format("--{}", option.name),
            "only for " + task_words(tasks) + (other.empty() ? "" : ", but " + other + " is not"),
            fmt::format("--task {}{}", tasks.front(), other.empty() ? "" : " without " + other));
  }
  if (s.task == "embeddings") {
    require(s.task_name.empty(), "--task embeddings",
            fmt::format("--task_name {} is another task", s.task_name),
            "--task " + task_of_name(s.task_name));
    check_embedding_options(s);
  }
  require(s.data_dir.empty() || is_glue(s.task_name), "--data_dir " + s.data_dir,
          "needs the --task_name of a GLUE task", "--task_name sst2");
  // A file of options, such as training_args.json, could not contain it.
  require(!s.text_column_delimiter.empty(), "--text_column_delimiter", "the value is empty",
          "--text_column_delimiter ' '");
  require(s.label_delimiter.size() <= 1, "--label_delimiter " + s.label_delimiter,
          "not one ASCII character", "--label_delimiter ,");
  require(!s.do_regression || s.label_delimiter.empty(), "--do_regression",
          "conflicts with --label_delimiter", "--do_regression false");
  require(s.label_smoothing == 0 ||
              (!s.do_regression && s.label_delimiter.empty() && s.task_name != "stsb"),
          fmt::format("--label_smoothing_factor {}", s.label_smoothing),
          "needs examples with one label each", "--label_smoothing_factor 0");
  check_classification_options(s);
}

void check_files(const Settings& s) {
  require(s.do_train || s.do_eval || s.do_predict, "nothing to do",
          "none of --do_train, --do_eval and --do_predict is given",
          !s.train_file.empty()        ? "--do_train"
          : !s.validation_file.empty() ? "--do_eval"
          : !s.test_file.empty()       ? "--do_predict"
                                       : "dttrain --demo");
  require(!s.model.empty(), "--model_name_or_path", "missing", "dttrain init --help");
  const bool folder = !s.data_dir.empty();
  const auto hint = [&](const char* file) {
    return is_glue(s.task_name) ? "--data_dir FOLDER" : fmt::format("{} FILE", file);
  };
  require(!s.do_train || folder || !s.train_file.empty(), "--do_train", "needs --train_file",
          hint("--train_file"));
  const bool splits = s.task == "masked_lm" && s.do_train;  // a part of the training file
  require(!s.do_predict || s.task != "masked_lm", "--do_predict",
          "a masked language model predicts nothing", "--do_eval");
  require(!s.do_eval || folder || splits || !s.validation_file.empty(),
          s.eval_strategy == "no" ? "--do_eval" : "--eval_strategy " + s.eval_strategy,
          "needs --validation_file", hint("--validation_file"));
  require(!s.do_predict || folder || !s.test_file.empty(), "--do_predict", "needs --test_file",
          hint("--test_file"));
  require(!s.output_dir.empty(), "--output_dir", "missing", "--output_dir FOLDER");
}

bool is_multiple(double of, double what) {
  const double ratio = of / what;
  // In floating point, 0.3 is not an exact multiple of 0.1.
  return std::abs(ratio - std::round(ratio)) < 1e-9 * std::max(1.0, ratio);
}

// The rules of transformers' TrainingArguments.
void check_best(const Settings& s) {
  const std::string option = "--load_best_model_at_end";
  if (s.load_best_model_at_end) {
    require(s.eval_strategy != "no", option, "needs evaluations, but --eval_strategy is no",
            "--eval_strategy epoch --save_strategy epoch");
    require(
        s.eval_strategy == s.save_strategy || s.save_strategy == "best", option,
        fmt::format("--eval_strategy {} and --save_strategy {} differ, but each evaluated model "
                    "must be saved",
                    s.eval_strategy, s.save_strategy),
        "--save_strategy " + s.eval_strategy);
    if (s.eval_strategy == "steps" && s.save_strategy == "steps") {
      require((s.eval_steps < 1) == (s.save_steps < 1), option,
              "--eval_steps and --save_steps must both be shares or both numbers of steps",
              fmt::format("--save_steps {:g}", s.eval_steps));
      require(is_multiple(s.save_steps, s.eval_steps), option,
              fmt::format("--save_steps {:g} is not a multiple of --eval_steps {:g}", s.save_steps,
                          s.eval_steps),
              fmt::format("--save_steps {:g}", s.eval_steps));
    }
  }
  require(s.save_strategy != "best" || s.eval_strategy != "no", "--save_strategy best",
          "needs evaluations, but --eval_strategy is no", "--eval_strategy epoch");
  require(!s.eval_on_start || s.do_eval, "--eval_on_start", "needs --do_eval", "--do_eval");
  if (s.early_stopping_patience > 0) {
    require(s.eval_strategy != "no",
            fmt::format("--early_stopping_patience {}", s.early_stopping_patience),
            "needs evaluations, but --eval_strategy is no", "--eval_strategy epoch");
  }
  require(s.early_stopping_threshold == 0 || s.early_stopping_patience > 0,
          fmt::format("--early_stopping_threshold {}", s.early_stopping_threshold),
          "needs --early_stopping_patience", "--early_stopping_patience 3");
  require(!s.greater_is_better || !s.metric_for_best_model.empty(), "--greater_is_better",
          "needs --metric_for_best_model", "--metric_for_best_model NAME");
}

void check_training(Settings& s) {
  optim_args(s);
  schedule_options(s);
  if (!s.scheduler_kwargs.empty() && ignores_schedule_options(s)) {
    s.notices.push_back(
        fmt::format("--lr_scheduler_kwargs has no effect here: --lr_scheduler_type {} takes none",
                    s.scheduler));
  }
}

void check_reports(Settings& s) {
  if (s.report_to.empty()) s.report_to = s.logging_dir.empty() ? "none" : "tensorboard";
  require(s.report_to == "none" || !s.output_dir.empty() || !s.logging_dir.empty(),
          "--report_to " + s.report_to, "needs --logging_dir or --output_dir",
          "--logging_dir FOLDER");
}

bool chooses_best(const Settings& s) {
  return s.load_best_model_at_end || s.early_stopping_patience > 0 || s.save_strategy == "best";
}

// Whether "key" occurs with a value that begins with `value`. The text is the beginning of a file
// and may end anywhere, so a JSON parser cannot read it.
bool has_key(std::string_view text, const std::string& key, char value) {
  const std::string quoted = fmt::format("\"{}\"", key);
  for (std::size_t at = text.find(quoted); at != text.npos; at = text.find(quoted, at + 1)) {
    std::string_view rest = text.substr(at + quoted.size());
    const std::size_t colon = rest.find_first_not_of(" \t\r\n");
    if (colon == rest.npos || rest[colon] != ':') continue;
    rest = rest.substr(colon + 1);
    const std::size_t begin = rest.find_first_not_of(" \t\r\n");
    if (begin != rest.npos && rest[begin] == value) return true;
  }
  return false;
}

}  // namespace

void complete_settings(Settings& s, const std::set<std::string>& given) {
  check_task_name(s);
  if (s.eval_strategy != "no") s.do_eval = true;
  if (s.eval_steps == 0) {
    s.eval_steps = s.eval_strategy == "steps" && s.logging_steps > 0 ? s.logging_steps : 500;
  }
  // transformers takes both spellings.
  if (s.metric_for_best_model.starts_with("eval_")) s.metric_for_best_model.erase(0, 5);
  if (s.task_name == "squad_v2") s.version_2_with_negative = true;
  for (const char* each :
       {"label_smoothing_factor", "focal_gamma", "label_weights", "reranking_loss"}) {
    s.loss_was_said = s.loss_was_said || given.contains(each);
  }
  require(!s.pad_to_max_length || s.qa_loss == "padded" || !given.contains("qa_loss"),
          "--qa_loss masked", "conflicts with --pad_to_max_length", "--qa_loss padded");
  require(s.save_steps > 0, "--save_steps 0", "there must be steps between checkpoints",
          "--save_strategy no");
  check_best(s);
  check_training(s);
  check_reports(s);
  // transformers knows losses alone, and would choose the model with the largest error.
  if (!s.metric_for_best_model.empty() && !given.contains("greater_is_better")) {
    s.greater_is_better = !is_better_low(s.metric_for_best_model);
  }
  s.task = task_of_options(s);
  check_task(s);
  if (!s.demo) check_files(s);  // the demonstration has its own model and text, and need not write
  // Otherwise fine_tune.cc first calls data_task() on rank 0, which has the files.
  if (s.task != "auto") set_task(s, s.task);
}

void set_task(Settings& s, const std::string& task) {
  s.task = task;
  check_task(s);
  const bool answers = task == "qa";
  const TaskRules& rules = task_rules(task);
  if (s.max_seq_length == 0) {
    s.max_seq_length = rules.length;
    s.default_length = true;
  }
  if (answers && s.pad_to_max_length) s.qa_loss = "padded";
  if (s.shuffle_seed != Settings().shuffle_seed && !s.shuffle_train_dataset) {
    s.notices.emplace_back("--shuffle_seed has no effect here: it needs --shuffle_train_dataset");
  }
  if (!answers && s.pad_was_said) {
    s.notices.emplace_back("--pad_to_max_length has no effect here: no padding is computed");
  }
  if (chooses_best(s) && s.metric_for_best_model.empty()) {
    s.metric_for_best_model = rules.best_metric;
    s.greater_is_better = rules.greater_is_better;
  }
}

// What complete_settings() and set_task() fill in depends on these options only.
Settings default_settings(const Settings& s) {
  Settings usual;
  usual.eval_steps = s.eval_strategy == "steps" && s.logging_steps > 0 ? s.logging_steps : 500;
  usual.report_to = s.logging_dir.empty() ? "none" : "tensorboard";
  usual.do_eval = s.eval_strategy != "no";
  usual.task = s.task;
  usual.version_2_with_negative = s.task_name == "squad_v2";
  const TaskRules& rules = task_rules(s.task);
  usual.max_seq_length = rules.length;
  if (s.task == "qa" && s.pad_to_max_length) usual.qa_loss = "padded";
  if (chooses_best(s)) usual.metric_for_best_model = rules.best_metric;
  const std::string& metric = s.metric_for_best_model;
  usual.greater_is_better = !metric.empty() && !is_better_low(metric);
  return usual;
}

std::string data_task(const Settings& s) {
  if (s.task != "auto") return s.task;
  const std::string path = first_file(s);
  const Fd file = open_regular_file(path);
  // 64 KiB: in SQuAD files the first context comes much earlier.
  std::string text(1 << 16, '\0');
  const ssize_t read = ::pread(file.get(), text.data(), text.size(), 0);
  if (read < 0) throw system_error(path + ": cannot read", Exit::kBadInput);
  text.resize(static_cast<std::size_t>(read));
  // Every SQuAD layout has both. Rows of a classification task may have one of these columns, but
  // rarely both.
  const bool squad = has_key(text, "context", '"') && has_key(text, "question", '"');
  return squad ? "qa" : "classification";
}

std::int64_t resolve_steps(double setting, std::int64_t total) {
  // option_table.cc accepts only whole numbers from 1 up.
  if (setting >= 1) return std::llround(setting);
  const double share = std::ceil(static_cast<double>(total) * setting);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
}

std::int64_t resolve_warmup(const Settings& s, std::int64_t total) {
  if (s.warmup_steps >= 1) return std::llround(s.warmup_steps);
  const double share = s.warmup_steps > 0 ? s.warmup_steps : s.warmup_ratio;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(total) * share));
}

}  // namespace dtl::trainer
