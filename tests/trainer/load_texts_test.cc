#include "trainer/job/load_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::load_texts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Prepared model_with(const std::vector<std::string>& labels) {
  Prepared prepared;
  prepared.config.labels = labels;
  prepared.length = 8;
  prepared.tokenizer.emplace(std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"},
                             true);
  return prepared;
}

Prepared evaluated(const std::vector<std::string>& model_labels, const std::string& rows,
                   Problem problem = Problem::kSingleLabel) {
  const TemporaryFolder folder;
  Settings settings;
  settings.do_eval = true;
  settings.validation_file = folder.write("eval.tsv", "sentence\tlabel\n" + rows);
  if (problem == Problem::kMultiLabel) settings.label_delimiter = ";";
  Prepared prepared = model_with(model_labels);
  prepared.config.problem = problem;
  prepare_classification(settings, prepared);
  return prepared;
}

std::vector<std::int32_t> ids(const std::vector<std::string>& model_labels,
                              const std::string& rows) {
  return evaluated(model_labels, rows).evaluation.front().examples.labels;
}

TEST(EvaluationLabels, MayBeNumbersOfLabelsThatNobodyNamed) {
  const std::vector<std::string> generic = {"LABEL_0", "LABEL_1", "LABEL_2"};
  EXPECT_THAT(ids(generic, "a\t2\nb\t0\na\t1\n"), ElementsAre(2, 0, 1));
  EXPECT_THAT(ids(generic, "a\t2\nb\t0\n"), ElementsAre(2, 0));  // no 1
  EXPECT_THAT(ids(generic, "a\tLABEL_2\n"), ElementsAre(2));
  EXPECT_THAT(ids(generic, "a\ty\nb\tx\na\tz\n"), ElementsAre(1, 0, 2));
  EXPECT_THROW(ids(generic, "a\t3\n"), Error);
  EXPECT_THROW(ids(generic, "a\t-1\n"), Error);
  EXPECT_THROW(ids(generic, "a\tx\nb\ty\n"), Error);  // whose name might be any
}

TEST(EvaluationLabels, MayBeNumbersOfLabelsThatHaveNames) {
  const std::vector<std::string> named = {"bad", "good", "none"};
  const Prepared prepared = evaluated(named, "a\t2\nb\t0\n");
  EXPECT_THAT(prepared.evaluation.front().examples.labels, ElementsAre(2, 0));
  EXPECT_EQ(prepared.config.labels, named);
  EXPECT_THAT(prepared.notices, ElementsAre(HasSubstr("0 stands for the model's bad")));
  EXPECT_THAT(ids(named, "a\tgood\n"), ElementsAre(1));
  EXPECT_THAT(ids({"2", "1", "0"}, "a\t2\n"), ElementsAre(0));  // numbers that are names
  EXPECT_THROW(ids(named, "a\t2\nb\tgood\n"), Error);
}

TEST(EvaluationLabels, MayBeSeveralNumbers) {
  const Prepared prepared = evaluated({"x", "y", "z"}, "a\t2;0\nb\t1\n", Problem::kMultiLabel);
  EXPECT_THAT(prepared.evaluation.front().examples.targets, ElementsAre(1, 0, 1, 0, 1, 0));
}

TEST(EvaluationLabels, AreTheModelsInUpperOrLowerCase) {
  const Prepared prepared = evaluated({"BAD", "GOOD"}, "a\tgood\nb\tBad\n");
  EXPECT_THAT(prepared.evaluation.front().examples.labels, ElementsAre(1, 0));
  EXPECT_THAT(prepared.config.labels, ElementsAre("BAD", "GOOD"));
  EXPECT_THROW(ids({"bad", "BAD", "good"}, "a\tBad\n"), Error);  // which one?
}

// Trained on and evaluated with: sst2's 0 is negative, and 1 positive.
Prepared of_task(const std::vector<std::string>& model_labels) {
  const TemporaryFolder folder;
  Settings settings;
  settings.task_name = "sst2";
  settings.do_train = settings.do_eval = true;
  settings.train_file = folder.write("train.tsv", "sentence\tlabel\na\t0\nb\t1\na\t1\n");
  settings.validation_file = folder.write("dev.tsv", "sentence\tlabel\nb\t1\na\t0\n");
  Prepared prepared = model_with(model_labels);
  prepare_classification(settings, prepared);
  return prepared;
}

TEST(TaskLabels, GoByTheModelsNames) {
  const Prepared prepared = of_task({"Positive", "NEGATIVE"});
  EXPECT_THAT(prepared.train.labels, ElementsAre(1, 0, 0));
  EXPECT_THAT(prepared.evaluation.front().examples.labels, ElementsAre(0, 1));
  EXPECT_THAT(prepared.config.labels, ElementsAre("Positive", "NEGATIVE"));
  EXPECT_THAT(prepared.notices, ElementsAre());
}

TEST(TaskLabels, AreTheTasksWhereNobodyNamedThem) {
  for (const std::vector<std::string>& model : {std::vector<std::string>{"LABEL_0", "LABEL_1"},
                                                {"negative", "positive"},
                                                {},
                                                {"a", "b", "c"}}) {
    const Prepared prepared = of_task(model);
    EXPECT_THAT(prepared.train.labels, ElementsAre(0, 1, 1));
    EXPECT_THAT(prepared.config.labels, ElementsAre("negative", "positive"));
    EXPECT_THAT(prepared.notices, ElementsAre());
  }
}

TEST(TaskLabels, KeepOtherNamesByTheirPlaces) {
  const Prepared prepared = of_task({"bad", "good"});
  EXPECT_THAT(prepared.train.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(prepared.config.labels, ElementsAre("bad", "good"));
  EXPECT_THAT(prepared.notices,
              ElementsAre(HasSubstr(
                  "the model's labels (bad, good) stand for the task's (negative, positive)")));
}

Prepared trained(const std::vector<std::string>& model_labels, const std::string& rows) {
  const TemporaryFolder folder;
  Settings settings;
  settings.do_train = settings.do_eval = true;
  settings.train_file = folder.write("train.tsv", "sentence\tlabel\n" + rows);
  settings.validation_file = settings.train_file;
  Prepared prepared = model_with(model_labels);
  prepare_classification(settings, prepared);
  EXPECT_EQ(prepared.evaluation.front().examples.labels, prepared.train.labels);
  return prepared;
}

TEST(TrainingLabels, GoByTheModelsNamesOrReplaceThemWithALine) {
  const std::string rows = "a\tyes\nb\tno\n";
  EXPECT_THAT(trained({"YES", "No"}, rows).train.labels, ElementsAre(0, 1));
  EXPECT_THAT(trained({"YES", "No"}, rows).config.labels, ElementsAre("YES", "No"));
  EXPECT_THAT(trained({"yes", "no"}, rows).train.labels, ElementsAre(0, 1));
  for (const std::vector<std::string>& model :
       {std::vector<std::string>{"LABEL_0", "LABEL_1"}, {}, {"a", "b", "c"}}) {
    EXPECT_THAT(trained(model, rows).config.labels, ElementsAre("no", "yes"));
    EXPECT_THAT(trained(model, rows).notices, ElementsAre());
  }
  // Two of the data's labels are one of the model's.
  const Prepared twice = trained({"yes", "no"}, "a\tYes\nb\tyes\n");
  EXPECT_THAT(twice.config.labels, ElementsAre("Yes", "yes"));
  EXPECT_THAT(twice.notices, ElementsAre(HasSubstr("(Yes, yes) replace the model's (yes, no)")));
  const Prepared other = trained({"bad", "good"}, rows);
  EXPECT_THAT(other.config.labels, ElementsAre("no", "yes"));
  EXPECT_THAT(other.notices,
              ElementsAre(HasSubstr("its labels (no, yes) replace the model's (bad, good)")));
}

}  // namespace
}  // namespace dtl::trainer::load_texts_test
