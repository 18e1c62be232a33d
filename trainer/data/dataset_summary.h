#pragma once
// What a user is told about a data set before anything is learnt from it. Pure functions.

#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

// "train.csv: 1200 examples; text: content; label: stance (for: 700, against: 500); not read: id"
std::string summary(const TextDataset& dataset);

// Why has_float_labels() makes a regression, for the user.
std::string float_labels_notice(const std::string& path);

// "neg, 'pos '": for a message, with quotes where blanks would not be seen.
std::string shown_labels(const std::vector<std::string>& labels);

// What may be wrong in it, each with how many rows and where: labels that differ only in case,
// blanks or the way a number is written; labels that stand for missing values, as "nan"; numbers
// among words; nearly as many labels as examples; empty texts; blank lines of a file to predict
// for; a first line that looks like a text and was taken for names.
std::vector<std::string> doubts(const TextDataset& dataset);

}  // namespace dtl::trainer
