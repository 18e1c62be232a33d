#pragma once
// What options of classification do with the data that has been read. Only rank 0 uses it.

#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// --shuffle_train_dataset: another order of the examples, of which --max_train_samples keeps the
// first.
void shuffle_examples(const Settings& settings, TextDataset& dataset);

// Several labels per example: adds those that only the evaluation has to the model's labels, as
// run_classification.py does, and a notice.
void add_unseen_labels(const TextDataset& evaluation, std::vector<std::string>& labels,
                       std::vector<std::string>& notices);

// Throws Error(kUsage) for a --metric_name that the evaluation does not have, and for a
// --multi_label_threshold without several labels.
void check_label_options(const Settings& settings, const ModelConfig& config);

}  // namespace dtl::trainer
