#pragma once
// Options of --task embeddings, with the names of sentence-transformers' losses and training
// arguments. Pure.

#include <string>
#include <utility>
#include <vector>

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

std::vector<OptionRow<Settings>> embedding_option_rows();

// Throws Error(kUsage) for values that cannot be used, and for options that --loss does not have.
// Without --loss the data decides: then call check_loss_options() with the loss that it needs.
void check_embedding_options(const Settings& settings);
void check_loss_options(const Settings& settings, const std::string& loss);

// --matryoshka_dims and --matryoshka_weights; empty if not given.
std::vector<int> matryoshka_dims(const Settings& settings);
std::vector<double> matryoshka_weights(const Settings& settings);

// --prompts by the name of a column; a single text has the name "". Empty if not given.
std::vector<std::pair<std::string, std::string>> given_prompts(const Settings& settings);

// Whether a loss of this name learns from scores.
bool needs_scores(const std::string& loss);

}  // namespace dtl::trainer
