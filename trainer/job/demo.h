#pragma once
// The built-in demonstration: a tiny model, text from its own generator, less than a minute on two
// cores. Needs no files and writes none, unless --output_dir is given.

#include "trainer/data/dataset.h"
#include "trainer/job/load_inputs.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// Rank 0 only. The notices say what words alone achieve.
Prepared prepare_demo(const Settings& settings);

// Accuracy on `evaluation` of naive Bayes on word counts of `train`: what a bag of words can do.
double bag_of_words_accuracy(const TextDataset& train, const TextDataset& evaluation);

}  // namespace dtl::trainer
