#pragma once
// Settings: the command line of dttrain, with the option names of run_glue.py and run_qa.py. A
// plain value, equal on all ranks. parse_settings() completes it, except for the task, which may
// depend on the data: see data_task().

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/settings/option_places.h"

namespace dtl::trainer {

struct Settings {
  std::string model;                    // a folder, or a hub name: see hub_cache.h
  std::string model_revision = "main";  // revision of a hub name
  std::string cache_dir;                // the hub's cache; empty: huggingface_hub's default
  std::string train_file, validation_file, test_file, output_dir;
  std::string data_dir;   // GLUE's folder with train.tsv, dev.tsv (dev_matched.tsv), test.tsv
  std::string task_name;  // cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli, squad, squad_v2,
                          // ner, pos, chunk; ""
  std::string task = "auto";  // a name of task_rules.h; auto: rank 0 calls data_task()
  std::string task_option;    // the option that decided it, without --; empty: none
  bool do_train = false, do_eval = false, do_predict = false;
  bool demo = false;
  bool overwrite_output_dir = false;
  bool ignore_mismatched_sizes = false;
  std::int64_t max_train_samples = -1, max_eval_samples = -1, max_predict_samples = -1;
  int max_seq_length = 0;       // 0 until set_task(), and then: what the model can
  bool default_length = false;  // nobody has given it
  bool pad_to_max_length = false;
  bool pad_was_said = false;  // the option was on the command line

  // Classification. Empty names: the data's own names.
  std::string text_column_names;  // separated by commas
  std::string text_column_delimiter = " ";
  std::string label_column_name;
  std::string label_delimiter;  // separates several labels of one example; empty: one label
  bool do_regression = false;
  std::string label_weights;           // balanced, or NAME=W,..; empty: all are alike
  double focal_gamma = 0;              // 0: cross entropy
  bool loss_was_said = false;          // an option of the loss of a head was given
  double multi_label_threshold = 0.5;  // a probability above it predicts the label
  std::string metric_name;             // as in eval_results.json, without eval_; empty: the usual
  bool shuffle_train_dataset = false;  // before --max_train_samples takes the first
  std::int64_t shuffle_seed = 42;

  // Token classification
  std::string text_column_name;  // of the words; empty: tokens, else the first column
  bool label_all_tokens = false;
  bool return_entity_level_metrics = false;

  // Multiple choice and reranking
  std::string choice_column_names;        // separated by commas
  std::string reranking_loss = "binary";  // binary, softmax

  // Masked language models
  double mlm_probability = 0.15;
  bool whole_word_mask = false;
  bool line_by_line = false;
  int validation_split_percentage = 5;  // of --train_file, without --validation_file

  // Question answering
  std::string qa_loss = "masked";  // masked; padded: as in Hugging Face, over max_seq_length tokens
  bool version_2_with_negative = false;
  int doc_stride = 128;  // tokens that adjacent windows share
  int n_best_size = 20;
  int max_answer_length = 30;  // tokens
  double null_score_diff_threshold = 0;

  // Embeddings: see embedding_options.h.
  std::string embedding_loss;  // empty: the data decides
  double loss_scale = 20;
  bool symmetric_loss = false;
  double margin = 5;
  std::string triplet_distance = "euclidean";
  std::string matryoshka_dims, matryoshka_weights;  // numbers separated by commas
  std::string pooling;                              // empty: the folder's
  bool normalize_embeddings = false;
  std::string prompts;  // a JSON object or one text
  std::string corpus_file;

  std::int64_t train_batch = 8;   // per rank
  std::int64_t eval_batch = 8;    // per rank
  std::int64_t global_batch = 0;  // over all ranks; 0: from train_batch
  int accumulation = 1;
  bool drop_last = false;

  std::string optimizer = "adamw_torch";  // transformers' names, or lion
  std::string optim_args;                 // "momentum=0.9": see optim_args()
  double learning_rate = 5e-5;
  double weight_decay = 0;
  double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-8;
  double max_grad_norm = 1.0;
  int freeze_layers = 0;  // with the embeddings; 0: nothing is frozen
  double label_smoothing = 0;
  std::string scheduler = "linear";  // transformers' names
  std::string scheduler_kwargs;      // a JSON object: see schedule_options()
  double epochs = 3;
  std::int64_t max_steps = -1;
  double warmup_ratio = 0;
  double warmup_steps = 0;  // a share of all steps below 1; see resolve_warmup()
  std::int64_t seed = 42;
  std::int64_t data_seed = -1;           // seed for the order of examples; -1: same as seed
  std::string bf16 = "false";            // true: in hardware; emulate: in software
  std::string bf16_full_eval = "false";  // the same
  std::string gradient_wire = "f32";     // bf16, f16

  // Strategies are no, steps or epoch; for saving also best. Steps below 1 are a share of all
  // steps: see resolve_steps().
  std::string logging_strategy = "steps", eval_strategy = "no", save_strategy = "steps";
  double logging_steps = 0;  // 0: about 20 lines
  double eval_steps = 0;     // not given, eval_strategy steps: logging_steps if given, else 500
  double save_steps = 500;
  bool logging_first_step = false;
  bool eval_on_start = false;
  double eval_delay = 0;  // steps or passes, in the unit of eval_strategy
  bool save_only_model = false;
  std::int64_t save_total_limit = 0;   // 0: none
  std::string resume_from_checkpoint;  // a folder; true: the last one, required; false;
                                       // empty: the last one if there is one
  bool load_best_model_at_end = false;
  std::string metric_for_best_model;  // as in eval_results.json, without eval_
  bool greater_is_better = false;
  std::int64_t early_stopping_patience = 0;  // evaluations; 0: never stop early
  double early_stopping_threshold = 0;
  std::string report_to;  // none, tensorboard
  std::string logging_dir;
  bool disable_tqdm = false;
  std::int64_t report_examples = 10;  // in report.html; 0: none
  std::string debug_dump;

  std::string command;               // as typed, quoted for a shell; secrets are ***
  std::vector<std::string> notices;  // for the user, from rank 0: options without effect
  bool help = false, help_all = false, version = false;
  std::string shell;     // --completion
  bool verbose = false;  // with version
};

// `arguments`: options, or a file of them (.json, .toml) and options, which win. Throws
// Error(kUsage), for an unknown option with the nearest, for one in a file with file and key.
// places: of the options that dtlaunch has read from a job file.
Settings parse_settings(const std::vector<std::string>& arguments,
                        const std::vector<OptionPlace>& places = {});

// The settings that --demo means. The user's output folder, seed and logging options stay.
Settings demo_settings(const Settings& given);
constexpr int kDemoLength = 32;  // tokens; the longest text of the demonstration is shorter

// Looks at the first data file: "qa" if it is SQuAD's JSON, else "classification". Call only if
// `task` is auto, on rank 0. Throws Error(kBadInput) if the file cannot be read.
std::string data_task(const Settings& settings);

// Call on all ranks. Sets the task and the defaults that depend on it.
void set_task(Settings& settings, const std::string& task);

// The settings that a run like this one has if nobody gives an option: defaults that depend on the
// task, and on what the other options ask for, have their values. Files and folders are empty.
Settings default_settings(const Settings& settings);

// Turns a setting into steps. A setting below 1 is a share of `total`, rounded up.
std::int64_t resolve_steps(double setting, std::int64_t total);
// Optimizer steps during which the learning rate rises: --warmup_steps, else --warmup_ratio.
std::int64_t resolve_warmup(const Settings& settings, std::int64_t total);

// training_args.json: the settings as a JSON object that parse_settings() can read.
std::string settings_json(const Settings& settings);

// The same as names and values for a table, without empty values.
std::vector<std::pair<std::string, std::string>> settings_rows(const Settings& settings);

}  // namespace dtl::trainer
