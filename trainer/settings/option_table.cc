#include "trainer/settings/option_table.h"

#include <algorithm>

#include "base/completion.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

using S = Settings;

constexpr double kHuge = 1e30;
constexpr std::int64_t kMany = std::int64_t{1} << 40;

Number<int> whole(int S::*member, int low, int high) {
  return {member, low, high};
}
Number<std::int64_t> whole(std::int64_t S::*member, std::int64_t low) {
  return {member, low, kMany};
}
Number<double> real(double S::*member, double low, double high) {
  return {member, low, high};
}

using Options = std::vector<Option>;

Options data_options() {
  const char* group = "Model and data";
  return {
      {group, "model_name_or_path", "FOLDER", &S::model,
       "model folder: config.json, model.safetensors, vocabulary"},
      {group, "task_name", "NAME", &S::task_name,
       "cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli, squad or squad_v2"},
      {group, "task", "auto|classification|qa", Word{&S::task},
       "what the model learns; auto: what the other options and the files say (auto)"},
      {group, "data_dir", "FOLDER", &S::data_dir,
       "GLUE's files of --task_name: train.tsv, dev.tsv"},
      {group, "train_file", "FILE", &S::train_file,
       "labelled texts to train on (.tsv, .csv, .json, .jsonl; SQuAD's .json)"},
      {group, "validation_file", "FILE", &S::validation_file, "the same, to evaluate on"},
      {group, "test_file", "FILE", &S::test_file, "texts or questions to predict for"},
      {group, "text_column_names", "NAME[,NAME]", &S::text_column_names,
       "columns to join into one text (a pair: sentence1 and sentence2, or the first ones)"},
      {group, "label_column_name", "NAME", &S::label_column_name, "column of the label (label)"},
      {group, "label_delimiter", "TEXT", &S::label_delimiter,
       "examples have several labels, with TEXT between them"},
      {group, "do_regression", "", &S::do_regression, "labels are numbers"},
      {group, "output_dir", "FOLDER", &S::output_dir, "where model, metrics and logs go"},
      {group, "overwrite_output_dir", "", &S::overwrite_output_dir,
       "write into a folder that holds files already"},
      {group, "ignore_mismatched_sizes", "", &S::ignore_mismatched_sizes,
       "start a new head when the folder's has other labels"},
      {group, "max_seq_length", "N", whole(&S::max_seq_length, 3, 1 << 20),
       "tokens of an example; more are cut (128), or make windows (question answering: 384)"},
      {group, "pad_to_max_length", "", &S::pad_to_max_length,
       "question answering: --qa_loss padded; else without effect"},
      {group, "max_train_samples", "N", whole(&S::max_train_samples, 1),
       "use only the first N training examples"},
      {group, "max_eval_samples", "N", whole(&S::max_eval_samples, 1),
       "use only the first N evaluation examples"},
      {group, "max_predict_samples", "N", whole(&S::max_predict_samples, 1),
       "use only the first N examples to predict for"},
  };
}

Options answer_options() {
  const char* group = "Question answering";
  return {
      {group, "version_2_with_negative", "", &S::version_2_with_negative,
       "some questions have no answer (SQuAD 2)"},
      {group, "doc_stride", "N", whole(&S::doc_stride, 0, 1 << 20),
       "tokens that neighbouring windows of a long context share (128)"},
      {group, "n_best_size", "N", whole(&S::n_best_size, 1, 1000),
       "answers kept of each question (20)"},
      {group, "max_answer_length", "N", whole(&S::max_answer_length, 1, 1 << 20),
       "tokens of an answer (30)"},
      {group, "null_score_diff_threshold", "X", real(&S::null_score_diff_threshold, -kHuge, kHuge),
       "how much likelier than the best answer no answer must be (0)"},
      {group, "qa_loss", "masked|padded", Word{&S::qa_loss},
       "softmax over the example's tokens, or as run_qa over --max_seq_length (masked)"},
  };
}

Options action_options() {
  const char* group = "What to do";
  return {
      {group, "do_train", "", &S::do_train, "train"},
      {group, "do_eval", "", &S::do_eval, "evaluate, after training if there is any"},
      {group, "do_predict", "", &S::do_predict, "write the answers for --test_file"},
      {group, "demo", "", &S::demo, "train a tiny model on built-in text, in less than a minute"},
  };
}

Options training_options() {
  const char* group = "Training";
  return {
      {group, "per_device_train_batch_size", "N", whole(&S::train_batch, 1),
       "examples of a rank and micro-batch (8)"},
      {group, "global_batch_size", "N", whole(&S::global_batch, 1),
       "examples of a step on all ranks; instead of the option above"},
      {group, "gradient_accumulation_steps", "N", whole(&S::accumulation, 1, 1 << 20),
       "micro-batches of a step (1)"},
      {group, "dataloader_drop_last", "", &S::drop_last,
       "leave out the shorter step at the end of a pass"},
      {group, "num_train_epochs", "X", real(&S::epochs, 0, 1e6),
       "passes over the training examples (3)"},
      {group, "max_steps", "N", whole(&S::max_steps, -1), "steps, instead of passes"},
      {group, "learning_rate", "X", real(&S::learning_rate, 0, kHuge),
       "highest learning rate (5e-5)"},
      {group, "lr_scheduler_type", "linear|cosine|constant|constant_with_warmup",
       Word{&S::scheduler}, "how the learning rate falls (linear)"},
      {group, "warmup_steps", "N", Steps{&S::warmup_steps},
       "steps during which the learning rate rises; below 1 a share of all (0)"},
      {group, "warmup_ratio", "X", real(&S::warmup_ratio, 0, 1),
       "the same as a share of all steps"},
      {group, "optim", "adamw_torch|adamw_torch_fused|adamw_hf", Word{&S::optimizer},
       "AdamW as PyTorch or as early transformers wrote it (adamw_torch)"},
      {group, "weight_decay", "X", real(&S::weight_decay, 0, kHuge),
       "AdamW's decay of matrices (0)"},
      {group, "adam_beta1", "X", real(&S::adam_beta1, 0, 0.999999999),
       "decay of the gradients' mean (0.9)"},
      {group, "adam_beta2", "X", real(&S::adam_beta2, 0, 0.999999999),
       "decay of the squared gradients' mean (0.999)"},
      {group, "adam_epsilon", "X", real(&S::adam_epsilon, 0, kHuge), "added to the divisor (1e-8)"},
      {group, "max_grad_norm", "X", real(&S::max_grad_norm, 0, kHuge),
       "longer gradients are clipped to this norm (1); 0: never"},
      {group, "label_smoothing_factor", "X", real(&S::label_smoothing, 0, 0.999999999),
       "share of the target that all labels get alike (0)"},
      {group, "seed", "N", whole(&S::seed, 0), "of order, dropout and new weights (42)"},
      {group, "bf16", "true|false|emulate", Word{&S::bf16},
       "multiply matrices in bfloat16; emulate: on CPUs that cannot, slowly (false)"},
      {group, "gradient_wire", "f32|bf16|f16", Word{&S::gradient_wire},
       "what gradients are sent as (f32)"},
  };
}

Options result_options() {
  const char* group = "Evaluation, checkpoints and logs";
  return {
      {group, "per_device_eval_batch_size", "N", whole(&S::eval_batch, 1),
       "examples a rank evaluates at once (8)"},
      {group, "eval_strategy", "no|steps|epoch", Word{&S::eval_strategy},
       "when to evaluate while training (no)"},
      {group, "eval_steps", "N", Steps{&S::eval_steps},
       "steps between two evaluations; below 1 a share of all (--logging_steps or 500)"},
      {group, "save_strategy", "no|steps|epoch", Word{&S::save_strategy},
       "when to write a checkpoint (steps)"},
      {group, "save_steps", "N", Steps{&S::save_steps},
       "steps between two checkpoints; below 1 a share of all (500)"},
      {group, "save_total_limit", "N", whole(&S::save_total_limit, 0),
       "delete the oldest checkpoints but N; 0: none (0)"},
      {group, "resume_from_checkpoint", "FOLDER|true|false",
       OptionalText{&S::resume_from_checkpoint},
       "go on from a checkpoint, or from the last one (where there is one)"},
      {group, "load_best_model_at_end", "", &S::load_best_model_at_end,
       "end with the best checkpoint's model instead of the last"},
      {group, "metric_for_best_model", "NAME", &S::metric_for_best_model,
       "what makes it the best (loss; question answering: f1)"},
      {group, "greater_is_better", "", &S::greater_is_better,
       "whether more of that is better (unless its name ends in loss)"},
      {group, "early_stopping_patience", "N", whole(&S::early_stopping_patience, 0),
       "stop after N evaluations without a better one; 0: never (0)"},
      {group, "early_stopping_threshold", "X", real(&S::early_stopping_threshold, 0, kHuge),
       "how much better counts as better (0)"},
      {group, "logging_strategy", "no|steps|epoch", Word{&S::logging_strategy},
       "when to log (steps)"},
      {group, "logging_steps", "N", Steps{&S::logging_steps},
       "steps between two lines; below 1 a share of all (about 20 lines in all)"},
      {group, "logging_first_step", "", &S::logging_first_step, "log the first step, too"},
      {group, "report_to", "none|tensorboard|all", Word{&S::report_to},
       "write TensorBoard's event files (with --logging_dir, else none)"},
      {group, "logging_dir", "FOLDER", &S::logging_dir,
       "where they go (runs/DATE_TIME_HOST below --output_dir)"},
      {group, "disable_tqdm", "", &S::disable_tqdm, "no progress bar on a terminal"},
      {group, "debug_dump", "FOLDER", &S::debug_dump,
       "write the first step's gradients and the evaluation's logits"},
  };
}

Options other_options() {
  const char* ignored = "Accepted, without effect";
  const char* refused = "Refused";
  return {
      {kOtherNames, "evaluation_strategy", "no|steps|epoch", Word{&S::eval_strategy},
       "--eval_strategy"},
      {ignored, "use_cpu", "", Ignored{}, "there are only CPUs"},
      {ignored, "no_cuda", "", Ignored{}, "there are only CPUs"},
      {ignored, "use_ipex", "", Ignored{}, "no PyTorch is involved"},
      {ignored, "ddp_backend", "NAME", Ignored{}, "ranks talk through libdtring"},
      {ignored, "xpu_backend", "NAME", Ignored{}, "ranks talk through libdtring"},
      {ignored, "local_rank", "N", Ignored{}, "the launcher tells each rank"},
      {ignored, "overwrite_cache", "", Ignored{}, "there is no cache"},
      {ignored, "cache_dir", "FOLDER", Ignored{}, "there is no cache"},
      {ignored, "preprocessing_num_workers", "N", Ignored{}, "all threads tokenise"},
      {ignored, "dataloader_num_workers", "N", Ignored{}, "all examples are in memory"},
      {ignored, "use_fast_tokenizer", "", Ignored{},
       "there is one tokenizer, the fast one's equal"},
      {ignored, "group_by_length", "", Ignored{}, "nothing is padded"},
      {ignored, "gradient_checkpointing", "", Ignored{}, "all activations are kept"},
      {ignored, "save_safetensors", "", Ignored{}, "models are saved so in any case"},
      {ignored, "dataloader_pin_memory", "", Ignored{}, "there are only CPUs"},
      {ignored, "ddp_find_unused_parameters", "", Ignored{}, "all parameters are used"},
      {refused, "fp16", "", Refused{false},
       "half precision overflows without loss scaling: use --bf16"},
      {refused, "push_to_hub", "", Refused{false}, "nothing is sent anywhere: use --output_dir"},
      {refused, "dataset_name", "NAME", Refused{true},
       "nothing is downloaded: use --train_file and --validation_file"},
  };
}

}  // namespace

const std::vector<Option>& option_table() {
  static const Options table = [] {
    Options all;
    for (const Options& part : {data_options(), action_options(), training_options(),
                                result_options(), answer_options(), other_options()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

const std::vector<ProgramOption>& program_options() {
  static const std::vector<ProgramOption> kTable = {
      {{"-h", "--help"}, "", "this text"},
      {{"--version"}, "", "the version"},
      {{"-v", "--verbose"}, "", "with --version: the libraries inside, too"},
      {{"--completion"}, kShells, "the shell's script that completes command lines"},
  };
  return kTable;
}

const Option* find_option(const std::string& name) {
  const auto found = std::find_if(option_table().begin(), option_table().end(),
                                  [&](const Option& option) { return name == option.name; });
  return found == option_table().end() ? nullptr : &*found;
}

bool is_flag(const Option& option) {
  const auto* refused = std::get_if<Refused>(&option.target);
  return std::holds_alternative<bool Settings::*>(option.target) ||
         (std::holds_alternative<Ignored>(option.target) && *option.value == '\0') ||
         (refused != nullptr && !refused->needs_value);
}

bool needs_no_value(const Option& option) {
  return is_flag(option) || std::holds_alternative<OptionalText>(option.target) ||
         (std::holds_alternative<Word>(option.target) &&
          std::string_view(option.value).starts_with("true|"));
}

std::string nearest_option(const std::string& word) {
  std::vector<std::string> known;
  for (const ProgramOption& option : program_options()) {
    known.push_back(option.names.back().substr(2));
  }
  for (const Option& option : option_table()) known.emplace_back(option.name);
  return nearest(word, known);
}

}  // namespace dtl::trainer
