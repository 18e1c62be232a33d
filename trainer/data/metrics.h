#pragma once
// Which figures an evaluation has, as run_glue.py and run_classification.py name them, and more.
// class_counts.h, ranking.h and correlation.h have the formulas. Pure functions. Undefined metrics
// are NaN, without a sign.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/data/class_counts.h"
#include "trainer/data/correlation.h"
#include "trainer/data/examples.h"
#include "trainer/families/model_config.h"

namespace dtl::trainer {

// In display order: {"accuracy", 0.84}, {"f1", 0.89}, ..
using MetricList = std::vector<std::pair<std::string, double>>;

// class_counts.h's figures as {f1, precision, recall}_macro, then .._weighted, then .._class_NAME.
MetricList class_metrics(Problem problem, const std::vector<ClassCounts>& counts,
                         const std::vector<std::string>& labels);

struct MetricOptions {
  std::string_view task = "";    // a name of tasks.h; "": own data
  std::string_view chosen = "";  // --metric_name: the figure to put first; "": none
  float cut = 0;                 // see class_counts.h
};

// The metrics without the loss. With a task: GLUE's and, if there are several, their mean as
// combined_score. Own data: mse; or accuracy, class_metrics() and more; for multi-label f1 (micro)
// instead of accuracy. `chosen` comes first; if it is not among them, it is computed in addition.
// `labels` are the model's labels, C of logits [N, C]. Without examples, the names are the same.
MetricList task_metrics(const MetricOptions& options, Problem problem, const Examples& examples,
                        std::span<const float> logits, const std::vector<std::string>& labels);

// What `chosen` may be: the names of task_metrics() and those that are computed on demand.
std::vector<std::string> metric_names(std::string_view task, Problem problem,
                                      const std::vector<std::string>& labels);

// The metrics that fit on a screen line: the first, and those without is_detail().
MetricList main_metrics(const MetricList& metrics);
// Precision, recall, weighted means, single classes, areas under curves and the like.
bool is_detail(const std::string& name);
// Whether a metric is of one class (class_metrics()).
bool is_of_class(const std::string& name);

}  // namespace dtl::trainer
