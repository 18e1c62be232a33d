#pragma once
// What a task adds to an encoder: which rows of its output the head reads, and which rows of
// outputs it gives. The layers between them are the family's (HeadForm). To add a task, add a Task
// (model_config.h), a row in task_head.cc, a loss in model/loss.cc and a file in trainer/tasks.
// Pure; it cannot fail.

#include <cstdint>
#include <string_view>

#include "trainer/families/model_config.h"

namespace dtl::trainer {

// Rows of the encoder's output [T, H]: each sequence's first token, or the mean of its tokens if
// config.classifier_pooling says so; all tokens; those over which
// config.embedding pools; or masked tokens.
enum class HeadRows { kFirstTokens, kAllTokens, kPooledTokens, kMaskedTokens };
// Rows of the head's outputs: one per sequence or one per token.
enum class OutputRows { kSequences, kTokens };

struct TaskHead {
  Task task;
  std::string_view architecture;  // in config.json's "architectures", after the family's class_name
  HeadRows rows;
  OutputRows output_rows;
  int outputs;  // 0: one for each label
};

const TaskHead& head_of(Task task);
inline const TaskHead& head_of(const ModelConfig& config) {
  return head_of(config.task);
}

// Whether the head reads all rows of the encoder's output, or only some of them.
bool reads_all_tokens(const ModelConfig& config);
// Whether each token has a row of outputs, or each sequence.
inline bool outputs_per_token(const ModelConfig& config) {
  return head_of(config).output_rows == OutputRows::kTokens;
}

// O: the number of outputs in each row. A regression has one label, so one output. An embedding has
// as many as its last layer gives.
std::int64_t output_count(const ModelConfig& config);

}  // namespace dtl::trainer
