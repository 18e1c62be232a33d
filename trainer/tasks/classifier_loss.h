#pragma once
// The loss that a run's options ask for.

#include <string>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/families/model_config.h"
#include "trainer/model/loss.h"
#include "trainer/settings/settings.h"
#include "trainer/tasks/prepared.h"

namespace dtl::trainer {

// A weight for each label of the model, or none without --label_weights. Labels that it does not
// name weigh 1. balanced: for one label per example n / (labels * count), as scikit-learn's
// class_weight; for several (n - count) / count, the weight of positive examples. Adds a line about
// the weights to the notices. Throws Error(kUsage) for a label that the model does not have, and
// for a regression.
std::vector<double> label_weights(const Settings& settings, const ModelConfig& config,
                                  const Examples& training, std::vector<std::string>& notices);

// Sets the loss of this run: as the options say or, for an evaluation without such options, as the
// model was trained, which a notice tells. Call after the task has read its data.
void choose_head_loss(const Settings& settings, Prepared& prepared);

// Of any task. `prepared`: for the loss of its head, and whether the training data has targets.
LossSettings loss_settings(const Settings& settings, const Prepared& prepared);

}  // namespace dtl::trainer
