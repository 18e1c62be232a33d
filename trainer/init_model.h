#pragma once
// New models: a vocabulary learnt from the task's own texts and random weights. `dttrain init`
// writes one to a folder; the demonstration makes one in memory.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/dataset.h"
#include "trainer/model_config.h"
#include "trainer/safetensors.h"
#include "trainer/tokenizer.h"

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

// The model of the demonstration for texts of make_demo_text: 0.1 million parameters, no dropout,
// weights wide enough that two layers find negation at once. With 12,000 texts in batches of 32 and
// a peak learning rate of 1e-3 it passes 0.95 within two epochs.
NewModel make_demo_model(const TextDataset& dataset, std::uint64_t seed);

// config.json, model.safetensors and the tokenizer's files; makes the folder when there is none.
void save_model(const std::string& folder, const NewModel& model);

// `dttrain init`: the words behind "init". Returns the exit status; throws Error(kUsage) for a
// wrong command line.
int run_init(const std::vector<std::string>& arguments);

}  // namespace dtl::trainer
