// One row per task.
#include "trainer/tasks/task_kind.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace dtl::trainer {

std::span<const TaskKind* const> task_kinds() {
  static constexpr std::array<const TaskKind*, 7> kinds = {
      &kClassification, &kQuestionAnswering, &kTokenClassification, &kEmbeddings, &kReranking,
      &kMultipleChoice, &kMaskedLm};
  return kinds;
}

const TaskKind& task_kind(std::string_view name) {
  const auto kinds = task_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const TaskKind* each) { return each->name == name; });
  assert(kind != kinds.end());
  return **kind;
}

}  // namespace dtl::trainer
