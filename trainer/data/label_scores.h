#pragma once
// Probabilities of labels from logits [N, C], in double. Pure functions.

#include <span>
#include <vector>

#include "trainer/families/model_config.h"

namespace dtl::trainer {

// The same shape: softmax over each row for one label per example, the sigmoid of each logit for
// several. Rows with the same logits in another order have the same probabilities, bit by bit.
std::vector<double> label_probabilities(Problem problem, std::span<const float> logits,
                                        std::size_t classes);

// The logit of a probability: log(p / (1 - p)).
float logit_of(double probability);

}  // namespace dtl::trainer
