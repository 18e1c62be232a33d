#pragma once
// A classifier's predictions in files. Pure functions. cut: the logit above which one of several
// labels is predicted.

#include <string>
#include <vector>

#include "trainer/families/model_config.h"

namespace dtl::trainer {

// A prediction for each example: a label's name, a number, or names with commas.
std::vector<std::string> prediction_lines(const ModelConfig& config,
                                          const std::vector<float>& logits, float cut = 0);

// JSON lines: index, line (of the file), prediction (a name, a list of names, or a number) and for
// labels probabilities by name and logits in the order of the model's labels.
std::string prediction_objects(const ModelConfig& config, const std::vector<float>& logits,
                               const std::vector<int>& lines, float cut = 0);

}  // namespace dtl::trainer
