#pragma once
// What the user learns about a data set before training. Pure functions.

#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

// "train.csv: 1200 examples; text: content; label: stance (for: 700, against: 500); not read: id"
std::string summary(const TextDataset& dataset);

// Throws Error(kBadInput) for fewer than two labels, which nothing can be learnt from.
void check_labels(const TextDataset& dataset);

// Why has_float_labels() makes a regression, for the user.
std::string float_labels_notice(const std::string& path);

// "neg, 'pos '": for a message, with quotes where blanks would not be seen. Of many the first ten,
// and how many more there are.
std::string shown_labels(const std::vector<std::string>& labels);

// Possible faults, each with the number of rows and a line: labels that differ only in case, blanks
// or number format; labels that stand for missing values, such as "nan"; numbers among words;
// nearly as many labels as examples; empty texts; blank lines in a file for prediction; a first
// line that looks like a text but was read as the header.
std::vector<std::string> doubts(const TextDataset& dataset);

}  // namespace dtl::trainer
