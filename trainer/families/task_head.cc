// One row per task.
#include "trainer/families/task_head.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "trainer/families/model_family.h"

namespace dtl::trainer {
namespace {

double before_classifier(const ModelConfig& config) {
  return config.classifier_dropout;
}

double before_answers(const ModelConfig& config) {
  return family_of(config).drops_before_answers ? config.qa_dropout : 0.0;
}

double before_token_labels(const ModelConfig& config) {
  return family_of(config).drops_tokens_as_hidden ? config.hidden_dropout
                                                  : config.classifier_dropout;
}

double never(const ModelConfig&) {
  return 0.0;
}

constexpr std::array<TaskHead, 7> kHeads = {{
    {.task = Task::kClassification,
     .architecture = "ForSequenceClassification",
     .rows = HeadRows::kFirstTokens,
     .output_rows = OutputRows::kSequences,
     .pools = true,
     .output = "classifier",
     .outputs = 0,
     .dropout = before_classifier},
    {.task = Task::kQuestionAnswering,
     .architecture = "ForQuestionAnswering",
     .rows = HeadRows::kAllTokens,
     .output_rows = OutputRows::kTokens,
     .pools = false,
     .output = "qa_outputs",
     .outputs = 2,  // start and end
     .dropout = before_answers},
    {.task = Task::kTokenClassification,
     .architecture = "ForTokenClassification",
     .rows = HeadRows::kAllTokens,
     .output_rows = OutputRows::kTokens,
     .pools = false,
     .output = "classifier",
     .outputs = 0,
     .dropout = before_token_labels},
    {.task = Task::kReranking,  // one label
     .architecture = "ForSequenceClassification",
     .rows = HeadRows::kFirstTokens,
     .output_rows = OutputRows::kSequences,
     .pools = true,
     .output = "classifier",
     .outputs = 0,
     .dropout = before_classifier},
    {.task = Task::kMultipleChoice,
     .architecture = "ForMultipleChoice",
     .rows = HeadRows::kFirstTokens,
     .output_rows = OutputRows::kSequences,
     .pools = true,
     .output = "classifier",
     .outputs = 1,
     .dropout = before_classifier},
    {.task = Task::kEmbeddings,
     .architecture = "Model",
     .rows = HeadRows::kPooledTokens,
     .output_rows = OutputRows::kSequences,
     .pools = false,
     .output = "",
     .outputs = 0,
     .dropout = never},
    {.task = Task::kMaskedLm,  // its layers: model/masked_head.h
     .architecture = "ForMaskedLM",
     .rows = HeadRows::kMaskedTokens,
     .output_rows = OutputRows::kTokens,
     .pools = false,
     .output = "",
     .outputs = 2,
     .dropout = never},
}};

}  // namespace

const TaskHead& head_of(Task task) {
  const auto* head = std::find_if(kHeads.begin(), kHeads.end(),
                                  [&](const TaskHead& each) { return each.task == task; });
  assert(head != kHeads.end());
  return *head;
}

bool reads_all_tokens(const ModelConfig& config) {
  switch (head_of(config).rows) {
    case HeadRows::kFirstTokens:
    case HeadRows::kMaskedTokens:
      return false;
    case HeadRows::kAllTokens:
      return true;
    case HeadRows::kPooledTokens:
      return config.embedding.pooling != TextPooling::kCls;
  }
  __builtin_unreachable();
}

std::int64_t output_count(const ModelConfig& config) {
  if (config.task == Task::kEmbeddings) {
    const auto& dense = config.embedding.dense;
    return dense.empty() ? config.hidden_size : dense.back().outputs;
  }
  const int fixed = head_of(config).outputs;
  return fixed > 0 ? fixed : static_cast<std::int64_t>(config.labels.size());
}

}  // namespace dtl::trainer
