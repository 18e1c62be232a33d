#pragma once
// What the command line has to know of each task: its name, defaults, and which options only some
// tasks have. Data that follows from it (what is read, learnt and written) is in trainer/tasks.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

struct TaskRules {
  std::string_view name;         // of --task
  std::string_view words;        // in sentences: "only for question answering"
  int length;                    // default of --max_seq_length; 0: what the model can
  std::string_view best_metric;  // default of --metric_for_best_model
  bool greater_is_better;        // for that metric
};

std::span<const TaskRules> all_task_rules();
// While the task is "auto": the rules of classification, which most data sets turn out to be.
const TaskRules& task_rules(std::string_view name);

// An option that only some tasks have.
struct TaskOption {
  std::string_view name;  // without dashes
  std::vector<std::string_view> tasks;
};
// Those that differ from their default, in the order of the table. A default does not count as use,
// because files of options list defaults, too.
std::vector<TaskOption> used_task_options(const Settings& settings);

// "question answering", or "classification and token classification".
std::string task_words(const std::vector<std::string_view>& tasks);

}  // namespace dtl::trainer
