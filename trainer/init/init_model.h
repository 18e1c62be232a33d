#pragma once
// New models: a vocabulary learnt from the task's own texts and random weights. `dttrain init`
// writes one to a folder; the demonstration makes one in memory.

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/completion.h"
#include "trainer/data/dataset.h"
#include "trainer/files/model_config.h"
#include "trainer/files/safetensors.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct NewModel {
  ModelConfig config;
  Tokenizer tokenizer;
  TensorMap weights;
};

// Learns at most config.vocab_size tokens from the texts and takes the labels from them; the rest
// of `config` is used as it is. Weights are N(0, initializer_range), biases 0, layer norms 1 and 0,
// the padding row 0. Throws Error for sizes that do not fit together.
NewModel make_model(const TextDataset& dataset, ModelConfig config, bool lower_case,
                    std::uint64_t seed);

// config.json, model.safetensors and the tokenizer's files; makes the folder when there is none.
void save_model(const std::string& folder, const NewModel& model);

// The options of `dttrain init`.
CompletedCommand init_completion();

// `dttrain init`: the words behind "init". Returns the exit status; throws Error(kUsage) for a
// wrong command line.
int run_init(const std::vector<std::string>& arguments);

}  // namespace dtl::trainer
