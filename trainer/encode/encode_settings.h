#pragma once
// The command line of `dttrain encode`. A plain value, equal on all ranks.

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/completion.h"

namespace dtl::trainer {

struct EncodeSettings {
  bool help = false;
  std::string model, model_revision = "main", cache_dir;  // as for training
  std::string test_file, output_file;
  std::string text_column_name;  // empty: the file's only or first text
  std::string prompt_name, prompt;
  bool prompt_given = false;  // --prompt, which may be empty
  std::int64_t batch = 32;    // texts per rank, as in sentence-transformers
  int max_seq_length = 0;     // 0: the folder's
  int truncate_dim = 0;       // 0: all
  bool normalize = false;
  std::string bf16 = "false";  // true, emulate
};

// `arguments`: those after "encode". Throws Error(kUsage).
EncodeSettings parse_encode(const std::vector<std::string>& arguments);

std::string encode_help();
CompletedCommand encode_completion();

}  // namespace dtl::trainer
