#include "trainer/settings/classification_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "trainer/settings/label_weight_list.h"

namespace dtl::trainer {
namespace {

using S = Settings;

void require_choice(bool good, const std::string& attempted, const std::string& reason,
                    const std::string& hint) {
  if (!good) throw Error(Exit::kUsage, attempted, reason, hint);
}

}  // namespace

// clang-format off
std::vector<OptionRow<S>> classification_options() {
  constexpr std::string_view group = "Classification";
  return {
      {group, {"--metric_name"}, "NAME",
       "metric to compute and show first (accuracy; several labels: f1; numbers: mse)",
       into::text<&S::metric_name>()},
      {group, {"--multi_label_threshold"}, "X",
       "predict each of several labels above this probability (0.5)",
       into::real<&S::multi_label_threshold>(1e-6, 0.999999)},
      {group, {"--label_weights"}, "balanced|NAME=X[,NAME=X]",
       "weights of labels in the loss (1); balanced: the rarer, the more",
       into::text<&S::label_weights>()},
      {group, {"--focal_gamma"}, "X", "focal loss: examples that are easy count less (0)",
       into::real<&S::focal_gamma>(0, 20)},
      {group, {"--shuffle_train_dataset"}, "",
       "shuffle before --max_train_samples takes the first",
       into::flag<&S::shuffle_train_dataset>()},
      {group, {"--shuffle_seed"}, "N", "seed of --shuffle_train_dataset (42)",
       into::whole<&S::shuffle_seed>(0, std::int64_t{1} << 40)},
  };
}
// clang-format on

void check_classification_options(const S& s) {
  const bool numbers = s.do_regression || s.task_name == "stsb";
  const std::string weights = "--label_weights " + s.label_weights;
  if (!s.label_weights.empty()) {
    require_choice(!numbers, weights, "needs labels, not numbers", "--do_regression false");
    const LabelWeightList list = parse_label_weights(s.label_weights);
    require_choice(!list.balanced || s.do_train, weights,
                   "counts the labels of the training set, but there is none", "--do_train");
  }
  const std::string gamma = fmt::format("--focal_gamma {}", s.focal_gamma);
  require_choice(s.focal_gamma == 0 || !numbers, gamma, "needs labels, not numbers",
                 "--do_regression false");
  require_choice(s.focal_gamma == 0 || s.label_smoothing == 0, gamma,
                 "conflicts with --label_smoothing_factor", "--label_smoothing_factor 0");
  require_choice(s.multi_label_threshold == S().multi_label_threshold ||
                     (!s.do_regression && s.task_name.empty()),
                 fmt::format("--multi_label_threshold {}", s.multi_label_threshold),
                 "needs examples with several labels", "--label_delimiter ,");
  require_choice(!s.shuffle_train_dataset || s.task_name.empty(), "--shuffle_train_dataset",
                 "GLUE's examples are taken in the order of their file",
                 "--shuffle_train_dataset false");
}

}  // namespace dtl::trainer
