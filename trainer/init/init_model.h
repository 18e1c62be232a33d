#pragma once
// New models: random weights, and a vocabulary learnt from the task's texts. `dttrain init` writes
// one to a folder; the demonstration keeps one in memory.

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/completion.h"
#include "trainer/data/dataset.h"
#include "trainer/families/model_config.h"
#include "trainer/files/safetensors.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct NewModel {
  ModelConfig config;
  Tokenizer tokenizer;
  TensorMap weights;
};

// Learns at most config.vocab_size tokens from the texts and takes the labels from them; the rest
// of `config` stays as it is. Weights are N(0, initializer_range), biases 0, layer norms 1 and 0,
// the padding row 0. Throws Error if sizes do not fit together.
NewModel make_model(const TextDataset& dataset, ModelConfig config, bool lower_case,
                    std::uint64_t seed);

// Writes config.json, model.safetensors and the tokenizer's files. Creates the folder if needed.
void save_model(const std::string& folder, const NewModel& model);

// The options of `dttrain init`.
CompletedCommand init_completion();

// Runs `dttrain init` with the arguments after "init". Returns the exit status. Throws
// Error(kUsage) for a wrong command line.
int run_init(const std::vector<std::string>& arguments);

}  // namespace dtl::trainer
