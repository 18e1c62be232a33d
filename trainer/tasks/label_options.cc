#include "trainer/tasks/label_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/dataset_summary.h"
#include "trainer/data/metrics.h"
#include "trainer/step/sampler.h"

namespace dtl::trainer {
namespace {

[[noreturn]] void refuse_metric(const Settings& s, const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  std::copy_if(names.begin(), names.end(), std::back_inserter(shown),
               [](const std::string& name) { return !is_of_class(name); });
  // "f1" of more than two labels: which mean?
  const auto longer = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(s.metric_name + "_");
  });
  const std::string near = longer != names.end() ? *longer : nearest(s.metric_name, names);
  throw Error(Exit::kUsage, "--metric_name " + s.metric_name,
              "not a figure of this task and its labels: " + join(shown, ", "),
              near.empty() ? "dttrain --help-all" : "--metric_name " + one_shell_word(near));
}

}  // namespace

void shuffle_examples(const Settings& s, TextDataset& dataset) {
  std::vector<TextExample>& examples = dataset.examples;
  const std::vector<std::int64_t> order = random_order(static_cast<std::int64_t>(examples.size()),
                                                       static_cast<std::uint64_t>(s.shuffle_seed));
  const std::size_t kept =
      s.max_train_samples < 0
          ? examples.size()
          : std::min(examples.size(), static_cast<std::size_t>(s.max_train_samples));
  std::vector<TextExample> chosen;
  for (std::size_t i = 0; i < kept; ++i) {
    chosen.push_back(std::move(examples[static_cast<std::size_t>(order[i])]));
  }
  examples = std::move(chosen);
}

void add_unseen_labels(const TextDataset& evaluation, std::vector<std::string>& labels,
                       std::vector<std::string>& notices) {
  std::vector<std::string> unseen;
  for (const std::string& name : label_names(evaluation)) {
    if (std::find(labels.begin(), labels.end(), name) == labels.end()) unseen.push_back(name);
  }
  if (unseen.empty()) return;
  notices.push_back(fmt::format(
      "{}: the training set does not have {}: the model cannot learn {}, and every example that "
      "has {} counts as missed",
      evaluation.path, shown_labels(unseen), unseen.size() == 1 ? "it" : "them",
      unseen.size() == 1 ? "it" : "one of them"));
  labels.insert(labels.end(), unseen.begin(), unseen.end());
}

void check_label_options(const Settings& s, const ModelConfig& config) {
  if (s.multi_label_threshold != Settings().multi_label_threshold &&
      config.problem != Problem::kMultiLabel) {
    throw Error(Exit::kUsage, fmt::format("--multi_label_threshold {}", s.multi_label_threshold),
                "the examples do not have several labels each", "--label_delimiter ,");
  }
  if (s.metric_name.empty()) return;
  const auto names = metric_names(s.task_name, config.problem, config.labels);
  if (std::find(names.begin(), names.end(), s.metric_name) == names.end()) refuse_metric(s, names);
}

}  // namespace dtl::trainer
