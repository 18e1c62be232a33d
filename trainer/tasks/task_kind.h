#pragma once
// TaskKind: what dttrain can learn, as a value: how the data sets of a task become examples, which
// figures and files its outputs give, and how the report shows them. The head and the loss below it
// are in files/task_head.h and model/loss.h; defaults and options in settings/task_rules.h. To add
// a task, add a file such as classification.cc and a row in task_kind.cc. No other code asks for
// the task. The functions run on rank 0 alone and may throw Error.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/report/evaluation_tables.h"
#include "trainer/settings/settings.h"
#include "trainer/tasks/prepared.h"

namespace dtl::trainer {

// A data set with the model's outputs, as predict() gives them.
struct ModelOutputs {
  const Settings& settings;
  const Prepared& prepared;
  const Questioned& set;
  const std::vector<float>& outputs;
  bool labelled = true;  // false: the set is to be predicted
};

struct TaskScore {
  MetricList metrics;                    // without a prefix; loss first, if there is one
  std::vector<std::string> lines = {};   // about the classes, for the screen after training
  std::shared_ptr<const TaskMemo> memo;  // for view() and files() of the same outputs; may be null
};

struct TaskFile {
  std::string name, text;  // below the output folder
};

struct TaskKind {
  std::string_view name;  // of --task
  Task head;
  // Reads and tokenises: sets the examples of `prepared`, and in its config labels, problem and
  // whatever else the head needs. The tokenizer is loaded, the weights are not. If it throws,
  // `prepared` holds the notices so far.
  void (*prepare)(const Settings& settings, Prepared& prepared);
  // Figures that an evaluation of the set will have; their values mean nothing.
  MetricList (*figures)(const Settings& settings, const ModelConfig& config, const Questioned& set);
  // Metrics if the set is labelled, and whatever view() and files() need.
  TaskScore (*score)(const ModelOutputs& of);
  // For report.html.
  EvaluationView (*view)(const ModelOutputs& of, const TaskScore& score);
  // Files to write after an evaluation (labelled) or a prediction; the first is told to the user.
  std::vector<TaskFile> (*files)(const ModelOutputs& of, const TaskScore& score);
  // What the head gives, for the screen: "3 labels".
  std::string (*outputs)(const ModelConfig& config);
};

std::span<const TaskKind* const> task_kinds();
// The kind with this value of --task, which must be one of them.
const TaskKind& task_kind(std::string_view name);

extern const TaskKind kClassification, kQuestionAnswering, kTokenClassification, kEmbeddings,
    kReranking, kMultipleChoice, kMaskedLm;

}  // namespace dtl::trainer
