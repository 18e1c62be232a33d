#pragma once
// Settings: the command line of dttrain, in run_glue's words. A plain value, equal on all ranks.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl::trainer {

struct Settings {
  std::string model, train_file, validation_file, test_file, output_dir;
  bool do_train = false, do_eval = false, do_predict = false;
  bool demo = false;
  bool overwrite_output_dir = false;
  bool ignore_mismatched_sizes = false;

  int max_seq_length = 128;
  std::int64_t train_batch = 8;   // per rank
  std::int64_t eval_batch = 8;    // per rank
  std::int64_t global_batch = 0;  // on all ranks; 0: from train_batch
  int accumulation = 1;
  std::int64_t max_train_samples = -1, max_eval_samples = -1;

  double learning_rate = 5e-5;
  double weight_decay = 0;
  double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-8;
  double max_grad_norm = 1.0;
  std::string scheduler = "linear";
  double epochs = 3;
  std::int64_t max_steps = -1;
  double warmup_ratio = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t seed = 42;

  std::int64_t logging_steps = 0;  // 0: about 20 lines
  std::string save_strategy = "no";
  std::string debug_dump;

  bool use_cpu = false, no_cuda = false;  // accepted, without effect
  std::string ddp_backend;                // accepted, without effect

  bool help = false, version = false;
};

// Throws Error(kUsage) with the nearest option for a word that is none.
Settings parse_settings(const std::vector<std::string>& arguments);
std::string help_text();

}  // namespace dtl::trainer
