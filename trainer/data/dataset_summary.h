#pragma once
// What the user learns about a data set before training. Pure functions.

#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

// "train.csv: 1200 examples; text: content; label: stance (for: 700, against: 500); not read: id"
std::string summary(const TextDataset& dataset);

// The notice for a regression that has_float_labels() causes.
std::string float_labels_notice(const std::string& path);

// "neg, 'pos '": labels for a message, with quotes if they have blanks at their ends.
std::string shown_labels(const std::vector<std::string>& labels);

// Possible faults, each with the number of rows and a line: labels that differ only in case, blanks
// or number format; labels that stand for missing values, such as "nan"; numbers among words;
// nearly as many labels as examples; empty texts; blank lines in a file for prediction; a first
// line that looks like a text but was read as the header.
std::vector<std::string> doubts(const TextDataset& dataset);

}  // namespace dtl::trainer
