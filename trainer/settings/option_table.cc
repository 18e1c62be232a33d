// Rows only; settings_check.cc checks rules between options. In argument files and
// training_args.json, an option's name is the last name of its row, without dashes.
#include "trainer/settings/option_table.h"

#include <fmt/format.h>

#include <cmath>

#include "base/options/completion.h"
#include "base/text.h"
#include "trainer/settings/candidate_options.h"
#include "trainer/settings/classification_options.h"
#include "trainer/settings/embedding_options.h"
#include "trainer/settings/masked_options.h"
#include "trainer/settings/stock_options.h"
#include "trainer/settings/token_options.h"

namespace dtl::trainer {
namespace {

using S = Settings;
using Rows = std::vector<OptionRow<S>>;

// Bounds for values without bounds of their own. They keep sums and products finite.
constexpr double kHuge = 1e30;
constexpr std::int64_t kMany = std::int64_t{1} << 40;
constexpr double kMostSteps = 1e12;

// A whole number of steps, or below 1 a share of all steps.
template <auto Member>
Target<S> steps() {
  return {Takes::kValue,
          [](S& settings, const std::string& text, const Option&) -> std::string {
            double value = 0;
            std::string wrong = read_real(text, 0, kMostSteps, value);
            if (!wrong.empty()) return wrong;
            if (value >= 1 && value != std::floor(value)) {
              return "neither a whole number nor a share below 1";
            }
            settings.*Member = value;
            return {};
          },
          [](const S& settings) -> OptionValue {
            // Write whole numbers without a fraction: 500, not 500.0.
            const double value = settings.*Member;
            if (value >= 1 || value == 0) return static_cast<std::int64_t>(value);
            return value;
          }};
}

Target<S> report_to() {
  return {Takes::kWords, read_report_to, into::text<&S::report_to>().get};
}

// For options that files never contain: aliases, and options about the program.
Target<S> not_in_files(Target<S> target) {
  target.get = {};
  return target;
}

// One row per line is easier to read.
// clang-format off
Rows data_options() {
  constexpr std::string_view group = "Model and data";
  return {
      {group, {"--model_name_or_path"}, "FOLDER",
       "folder with config.json, model.safetensors and vocabulary; or a model's name in the hub's cache",
       into::text<&S::model>()},
      {group, {"--model_revision"}, "NAME", "branch, tag or commit of a model in the hub's cache (main)",
       into::text<&S::model_revision>()},
      {group, {"--cache_dir"}, "FOLDER", "the hub's cache; default: the one of huggingface_hub",
       into::text<&S::cache_dir>()},
      {group, {"--task_name"}, "NAME",
       "cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli, squad, squad_v2, ner, pos, chunk",
       into::text<&S::task_name>()},
      {group, {"--task"},
       "auto|classification|qa|token_classification|embeddings|reranking|multiple_choice|masked_lm",
       "what the model learns; auto: detect it from other options and files (auto)",
       into::word<&S::task>()},
      {group, {"--data_dir"}, "FOLDER", "folder of GLUE's files for --task_name: train.tsv, dev.tsv",
       into::text<&S::data_dir>()},
      {group, {"--train_file"}, "FILE",
       "labelled texts to train on (.tsv, .csv, .json, .jsonl; SQuAD's .json; .conll)",
       into::text<&S::train_file>()},
      {group, {"--validation_file"}, "FILE", "labelled texts to evaluate on",
       into::text<&S::validation_file>()},
      {group, {"--test_file"}, "FILE", "texts or questions to predict for",
       into::text<&S::test_file>()},
      {group, {"--text_column_names"}, "NAME[,NAME]",
       "columns to join into one text, for embeddings one text each (see COLUMNS in dttrain(1))",
       into::text<&S::text_column_names>()},
      {group, {"--text_column_delimiter"}, "TEXT", "text between joined columns (a blank)",
       into::text<&S::text_column_delimiter>()},
      {group, {"--label_column_name"}, "NAME", "column of the label (default: the column the model was trained on, or label)",
       into::text<&S::label_column_name>()},
      {group, {"--label_delimiter"}, "TEXT", "examples have several labels, separated by TEXT",
       into::text<&S::label_delimiter>()},
      {group, {"--do_regression"}, "", "labels are numbers", into::flag<&S::do_regression>()},
      {group, {"--output_dir"}, "FOLDER", "where model, metrics and logs go",
       into::text<&S::output_dir>()},
      {group, {"--overwrite_output_dir"}, "", "write into a folder that already has files",
       into::flag<&S::overwrite_output_dir>()},
      {group, {"--ignore_mismatched_sizes"}, "",
       "make a new head if the model's head has other labels",
       into::flag<&S::ignore_mismatched_sizes>()},
      {group, {"--max_seq_length"}, "N",
       "most tokens per example; longer texts are cut (128 or what the task needs)",
       into::whole<&S::max_seq_length>(3, 1 << 20)},
      {group, {"--pad_to_max_length"}, "",
       "for question answering, same as --qa_loss padded; else no effect",
       into::flag<&S::pad_to_max_length>()},
      {group, {"--max_train_samples"}, "N", "use only the first N training examples",
       into::whole<&S::max_train_samples>(1, kMany)},
      {group, {"--max_eval_samples"}, "N", "use only the first N evaluation examples",
       into::whole<&S::max_eval_samples>(1, kMany)},
      {group, {"--max_predict_samples"}, "N", "use only the first N examples to predict for",
       into::whole<&S::max_predict_samples>(1, kMany)},
  };
}

Rows answer_options() {
  constexpr std::string_view group = "Question answering";
  return {
      {group, {"--version_2_with_negative"}, "", "some questions have no answer (SQuAD 2)",
       into::flag<&S::version_2_with_negative>()},
      {group, {"--doc_stride"}, "N",
       "tokens that neighbouring windows of a long context share (128)",
       into::whole<&S::doc_stride>(0, 1 << 20)},
      {group, {"--n_best_size"}, "N", "answers kept per question (20)",
       into::whole<&S::n_best_size>(1, 1000)},
      {group, {"--max_answer_length"}, "N", "longest answer, in tokens (30)",
       into::whole<&S::max_answer_length>(1, 1 << 20)},
      {group, {"--null_score_diff_threshold"}, "X",
       "give no answer if the null answer scores X more than the best (0)",
       into::real<&S::null_score_diff_threshold>(-kHuge, kHuge)},
      {group, {"--qa_loss"}, "masked|padded",
       "softmax over the example's tokens; or (padded) over --max_seq_length, as run_qa (masked)",
       into::word<&S::qa_loss>()},
  };
}

Rows action_options() {
  constexpr std::string_view group = "What to do";
  return {
      {group, {"--do_train"}, "", "train", into::flag<&S::do_train>()},
      {group, {"--do_eval"}, "", "evaluate; with --do_train: after training",
       into::flag<&S::do_eval>()},
      {group, {"--do_predict"}, "", "write predictions for --test_file",
       into::flag<&S::do_predict>()},
      {group, {"--demo"}, "", "train a tiny model on built-in text, in less than a minute",
       into::flag<&S::demo>()},
  };
}

Rows training_options() {
  constexpr std::string_view group = "Training";
  return {
      {group, {"--per_device_train_batch_size"}, "N", "examples per rank and micro-batch (8)",
       into::whole<&S::train_batch>(1, kMany)},
      {group, {"--global_batch_size"}, "N",
       "instead of --per_device_train_batch_size: examples per step on all ranks",
       into::whole<&S::global_batch>(1, kMany)},
      {group, {"--gradient_accumulation_steps"}, "N", "micro-batches per step (1)",
       into::whole<&S::accumulation>(1, 1 << 20)},
      {group, {"--dataloader_drop_last"}, "", "skip the last step of an epoch if its batch is incomplete",
       into::flag<&S::drop_last>()},
      {group, {"--num_train_epochs"}, "X", "passes over the training examples (3)",
       into::real<&S::epochs>(0, 1e6)},
      {group, {"--max_steps"}, "N", "number of steps; replaces --num_train_epochs",
       into::whole<&S::max_steps>(-1, kMany)},
      {group, {"--learning_rate"}, "X", "highest learning rate (5e-5)",
       into::real<&S::learning_rate>(0, kHuge)},
      {group, {"--lr_scheduler_type"},
       "linear|cosine|cosine_with_restarts|polynomial|constant|constant_with_warmup|inverse_sqrt|"
       "cosine_with_min_lr|cosine_warmup_with_min_lr|warmup_stable_decay",
       "schedule of the learning rate (linear)", into::word<&S::scheduler>()},
      {group, {"--lr_scheduler_kwargs"}, "JSON", "settings of the schedule: {\"num_cycles\": 2}",
       into::text<&S::scheduler_kwargs>()},
      {group, {"--warmup_steps"}, "N",
       "steps during which the learning rate rises; below 1: a share of all steps (0)",
       steps<&S::warmup_steps>()},
      {group, {"--warmup_ratio"}, "X", "--warmup_steps as a share of all steps",
       into::real<&S::warmup_ratio>(0, 1)},
      {group, {"--optim"},
       "adamw_torch|adamw_torch_fused|adamw_hf|sgd|adafactor|lion|lion_32bit",
       "optimizer (adamw_torch)", into::word<&S::optimizer>()},
      {group, {"--optim_args"}, "NAME=X[,NAME=X]",
       "settings of sgd: momentum (0), dampening (0), nesterov (false)", into::text<&S::optim_args>()},
      {group, {"--weight_decay"}, "X", "weight decay of matrices (0)",
       into::real<&S::weight_decay>(0, kHuge)},
      {group, {"--adam_beta1"}, "X", "decay of the mean gradient (0.9)",
       into::real<&S::adam_beta1>(0, 0.999999999)},
      {group, {"--adam_beta2"}, "X", "decay of the mean squared gradient (0.999)",
       into::real<&S::adam_beta2>(0, 0.999999999)},
      {group, {"--adam_epsilon"}, "X", "added to the denominator of an update (1e-8)",
       into::real<&S::adam_epsilon>(0, kHuge)},
      {group, {"--max_grad_norm"}, "X", "clip gradients to this norm (1); 0: never",
       into::real<&S::max_grad_norm>(0, kHuge)},
      {group, {"--freeze_layers"}, "N", "do not train the embeddings and the first N layers; 0: train all (0)",
       into::whole<&S::freeze_layers>(0, 1 << 12)},
      {group, {"--label_smoothing_factor"}, "X",
       "share of the target to spread over all labels (0)",
       into::real<&S::label_smoothing>(0, 0.999999999)},
      {group, {"--seed"}, "N", "seed of the examples' order, dropout and new weights (42)",
       into::whole<&S::seed>(0, kMany)},
      {group, {"--data_seed"}, "N", "seed of the examples' order (--seed)",
       into::whole<&S::data_seed>(0, kMany)},
      {group, {"--bf16"}, "true|false|emulate",
       "multiply matrices in bfloat16; emulate: also on CPUs without it, slowly (false)",
       into::word<&S::bf16>(Takes::kPerhapsValue)},
      {group, {"--gradient_wire"}, "f32|bf16|f16", "number format of gradients on the network (f32)",
       into::word<&S::gradient_wire>()},
  };
}

constexpr std::string_view kResultOptions = "Evaluation, checkpoints and logs";

Rows evaluation_options() {
  constexpr std::string_view group = kResultOptions;
  return {
      {group, {"--per_device_eval_batch_size"}, "N", "examples per rank and evaluation batch (8)",
       into::whole<&S::eval_batch>(1, kMany)},
      {group, {"--bf16_full_eval"}, "true|false|emulate",
       "evaluate in bfloat16 with rounded weights; values as for --bf16 (false)",
       into::word<&S::bf16_full_eval>(Takes::kPerhapsValue)},
      {group, {"--eval_strategy"}, "no|steps|epoch", "when to evaluate while training (no)",
       into::word<&S::eval_strategy>()},
      {group, {"--eval_steps"}, "N",
       "steps between evaluations; below 1: a share of all steps (--logging_steps or 500)",
       steps<&S::eval_steps>()},
      {group, {"--eval_on_start"}, "", "also evaluate before the first step",
       into::flag<&S::eval_on_start>()},
      {group, {"--eval_delay"}, "X", "steps or epochs (--eval_strategy) before the first evaluation (0)",
       into::real<&S::eval_delay>(0, kMostSteps)},
      {group, {"--save_strategy"}, "no|steps|epoch|best", "when to write a checkpoint (steps)",
       into::word<&S::save_strategy>()},
      {group, {"--save_only_model"}, "", "write smaller checkpoints; runs cannot resume from them",
       into::flag<&S::save_only_model>()},
      {group, {"--save_steps"}, "N", "steps between checkpoints; below 1: a share of all steps (500)",
       steps<&S::save_steps>()},
      {group, {"--save_total_limit"}, "N", "keep the N newest checkpoints; 0: all (0)",
       into::whole<&S::save_total_limit>(0, kMany)},
      {group, {"--resume_from_checkpoint"}, "FOLDER|true|false",
       "resume from this checkpoint; true: from the last one (true if there is one)",
       into::text<&S::resume_from_checkpoint>(Takes::kPerhapsValue)},
      {group, {"--load_best_model_at_end"}, "",
       "end with the best checkpoint's model instead of the last",
       into::flag<&S::load_best_model_at_end>()},
      {group, {"--metric_for_best_model"}, "NAME",
       "metric that decides which model is best (loss; question answering: f1)",
       into::text<&S::metric_for_best_model>()},
      {group, {"--greater_is_better"}, "",
       "a higher metric is better (unless it is a loss or an error)",
       into::flag<&S::greater_is_better>()},
      {group, {"--early_stopping_patience"}, "N",
       "stop after N evaluations without improvement; 0: never (0)",
       into::whole<&S::early_stopping_patience>(0, kMany)},
      {group, {"--early_stopping_threshold"}, "X", "smallest improvement that counts (0)",
       into::real<&S::early_stopping_threshold>(0, kHuge)},
  };
}

Rows log_options() {
  constexpr std::string_view group = kResultOptions;
  return {
      {group, {"--logging_strategy"}, "no|steps|epoch", "when to log (steps)",
       into::word<&S::logging_strategy>()},
      {group, {"--logging_steps"}, "N",
       "steps between log lines; below 1: a share of all steps (about 20 lines in all)",
       steps<&S::logging_steps>()},
      {group, {"--logging_first_step"}, "", "also log the first step",
       into::flag<&S::logging_first_step>()},
      {group, {"--report_to"}, "none|tensorboard|all ...",
       "write TensorBoard's event files (tensorboard with --logging_dir, else none)", report_to()},
      {group, {"--logging_dir"}, "FOLDER", "folder of event files (below --output_dir: runs/DATE_TIME_HOST)",
       into::text<&S::logging_dir>()},
      {group, {"--disable_tqdm"}, "", "no progress bar on a terminal",
       into::flag<&S::disable_tqdm>()},
      {group, {"--report_examples"}, "N",
       "examples with the highest loss in report.html; 0: none, to keep texts private (10)",
       into::whole<&S::report_examples>(0, 1000)},
      {group, {"--debug_dump"}, "FOLDER",
       "write the first step's gradients and the evaluation's logits here",
       into::text<&S::debug_dump>()},
  };
}

Rows other_names() {
  return {
      {"Other names", {"--evaluation_strategy"}, "no|steps|epoch", "same as --eval_strategy",
       not_in_files(into::word<&S::eval_strategy>())},
  };
}

// Options about the program itself. Files of options do not contain them.
Rows program_options() {
  constexpr std::string_view group = kProgramOptions;
  return {
      {group, {"-h", "--help"}, "", "the most used options", not_in_files(into::flag<&S::help>())},
      {group, {"--help-all"}, "", "all options", not_in_files(into::flag<&S::help_all>())},
      {group, {"--version"}, "", "version of dttrain", not_in_files(into::flag<&S::version>())},
      {group, {"-v", "--verbose"}, "", "with --version: also the libraries inside",
       not_in_files(into::flag<&S::verbose>())},
      {group, {"--completion"}, kShells, "print the completion script of a shell",
       not_in_files(into::text<&S::shell>())},
  };
}
// clang-format on

}  // namespace

const OptionTable<Settings>& option_table() {
  static const OptionTable<S> kTable = [] {
    Rows all;
    // In the order that --help shows.
    for (Rows (*part)() : {data_options, action_options, training_options, evaluation_options,
                           log_options, classification_options, answer_options, token_option_rows,
                           embedding_option_rows, candidate_option_rows, masked_option_rows,
                           other_names, stock_option_rows, program_options}) {
      for (OptionRow<S>& row : part()) all.push_back(std::move(row));
    }
    return OptionTable<S>(std::move(all));
  }();
  return kTable;
}

bool may_stand_in_file(const Option& option) {
  return option.group != kProgramOptions;
}

}  // namespace dtl::trainer
