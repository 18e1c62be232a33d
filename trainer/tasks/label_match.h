#pragma once
// Matches the labels of a data set with those of a model, by name and, where names do not help, by
// number or order. Pure; a notice says what was not matched by name.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dtl::trainer {

using LabelNames = std::map<std::string, std::string>;  // from the data's label to the model's

// LABEL_0, LABEL_1, ..: default names.
bool has_default_labels(const std::vector<std::string>& labels);

// Matches the data's labels to the model's, ignoring case. Nothing if a label has no match or two.
std::optional<LabelNames> match_ignoring_case(const std::vector<std::string>& model,
                                              const std::vector<std::string>& data);

// The label number that each name means, if all names are valid label numbers; else nothing.
std::optional<std::map<std::string, std::size_t>> label_numbers(
    const std::vector<std::string>& names, std::size_t labels);

// What a model learns: its own labels if the data has the same (ignoring case), otherwise the
// data's, with a notice if they replace names that are not defaults.
struct LearntLabels {
  std::vector<std::string> labels;
  LabelNames renamed = {};  // in the data
  std::string notice = {};
};
LearntLabels labels_to_learn(const std::vector<std::string>& model,
                             const std::vector<std::string>& data, const std::string& path);

// For an evaluation, whose data need not contain all labels. The model may have default names, and
// the data numbers instead.
LearntLabels labels_to_evaluate(const std::vector<std::string>& model,
                                const std::vector<std::string>& data, const std::string& path);

}  // namespace dtl::trainer
