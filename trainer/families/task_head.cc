// One row per task.
#include "trainer/families/task_head.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace dtl::trainer {
namespace {

constexpr std::array<TaskHead, 7> kHeads = {{
    {.task = Task::kClassification,
     .architecture = "ForSequenceClassification",
     .rows = HeadRows::kFirstTokens,
     .output_rows = OutputRows::kSequences,
     .outputs = 0},
    {.task = Task::kQuestionAnswering,
     .architecture = "ForQuestionAnswering",
     .rows = HeadRows::kAllTokens,
     .output_rows = OutputRows::kTokens,
     .outputs = 2},  // start and end
    {.task = Task::kTokenClassification,
     .architecture = "ForTokenClassification",
     .rows = HeadRows::kAllTokens,
     .output_rows = OutputRows::kTokens,
     .outputs = 0},
    {.task = Task::kReranking,  // one label
     .architecture = "ForSequenceClassification",
     .rows = HeadRows::kFirstTokens,
     .output_rows = OutputRows::kSequences,
     .outputs = 0},
    {.task = Task::kMultipleChoice,
     .architecture = "ForMultipleChoice",
     .rows = HeadRows::kFirstTokens,
     .output_rows = OutputRows::kSequences,
     .outputs = 1},
    {.task = Task::kEmbeddings,
     .architecture = "Model",
     .rows = HeadRows::kPooledTokens,
     .output_rows = OutputRows::kSequences,
     .outputs = 0},
    {.task = Task::kMaskedLm,  // its layers: model/masked_head.h
     .architecture = "ForMaskedLM",
     .rows = HeadRows::kMaskedTokens,
     .output_rows = OutputRows::kTokens,
     .outputs = 2},
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
      return config.classifier_pooling != TextPooling::kCls;
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
