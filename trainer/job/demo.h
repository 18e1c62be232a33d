#pragma once
// The built-in demonstration: a tiny model on generated text, less than a minute on two cores.
// Needs no files, and writes some only if --output_dir is given.

#include "trainer/data/dataset.h"
#include "trainer/job/load_inputs.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// Rank 0 only. The notices state the accuracy of a bag of words.
Prepared prepare_demo(const Settings& settings);

// Accuracy on `evaluation` of naive Bayes with the word counts of `train`: a bag-of-words baseline.
double bag_of_words_accuracy(const TextDataset& train, const TextDataset& evaluation);

}  // namespace dtl::trainer
