#include "trainer/settings/task_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trainer/tasks/task_kind.h"

namespace dtl::trainer::task_rules_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TaskRulesTest, ExistForEveryTask) {
  std::vector<std::string_view> kinds, rules;
  for (const TaskKind* kind : task_kinds()) kinds.push_back(kind->name);
  for (const TaskRules& each : all_task_rules()) rules.push_back(each.name);
  EXPECT_EQ(kinds, rules);
}

TEST(TaskRulesTest, NameTheOptionsInUse) {
  Settings settings;
  EXPECT_THAT(used_task_options(settings), IsEmpty());
  settings.label_column_name = "kind";
  settings.n_best_size = 3;
  std::vector<std::string_view> names;
  for (const TaskOption& option : used_task_options(settings)) names.push_back(option.name);
  EXPECT_THAT(names, ElementsAre("label_column_name", "n_best_size"));
}

TEST(TaskRulesTest, AreNamedInWords) {
  EXPECT_EQ(task_words({"qa"}), "question answering");
  EXPECT_EQ(task_words({"classification", "qa"}), "classification and question answering");
}

}  // namespace
}  // namespace dtl::trainer::task_rules_test
