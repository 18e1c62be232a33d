#include "trainer/tasks/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dtl::trainer::classification_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Predicted {
  Settings settings;
  Prepared prepared;
  Questioned set;
  std::vector<float> outputs = {0.5F, 2, 1, -1};

  Predicted() {
    prepared.config.labels = {"no", "yes"};
    set.lines = {2, 5};
  }
  std::vector<TaskFile> files(bool labelled) const {
    const ModelOutputs of{settings, prepared, set, outputs, labelled};
    return kClassification.files(of, kClassification.score(of));
  }
};

TEST(ClassPredictions, AreWrittenAsRunGlueWritesThem) {
  Predicted mrpc;
  mrpc.settings.task_name = "mrpc";
  const std::vector<TaskFile> files = mrpc.files(false);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "predict_results_mrpc.txt");
  EXPECT_EQ(files[0].text, "index\tprediction\n0\tyes\n1\tno\n");
}

TEST(ClassPredictions, OfMismatchedTextsHaveTheirOwnFile) {
  Predicted mnli;
  mnli.settings.task_name = "mnli";
  mnli.set.suffix = "-mm";
  EXPECT_EQ(mnli.files(false).at(0).name, "predict_results_mnli-mm.txt");
}

TEST(ClassPredictions, OfOwnDataTellTheLine) {
  const std::vector<TaskFile> files = Predicted().files(false);
  EXPECT_EQ(files.at(0).name, "predict_results.txt");
  EXPECT_EQ(files.at(0).text, "index\tprediction\tline\n0\tyes\t2\n1\tno\t5\n");
}

TEST(ClassPredictions, AreNotWrittenForAnEvaluation) {
  Predicted evaluated;
  evaluated.set.examples.labels = {1, 0};
  evaluated.set.examples.starts = {0, 1, 2};
  EXPECT_THAT(evaluated.files(true), IsEmpty());
}

TEST(ClassLines, HaveOneLineForEachClass) {
  EXPECT_THAT(class_lines({"no", "yes"}, {{2, 1, 1}, {1, 2, 1}}),
              ElementsAre("  class  precision  recall      f1  examples",
                          "  no        1.0000  0.5000  0.6667         2",
                          "  yes       0.5000  1.0000  0.6667         1"));
}

}  // namespace
}  // namespace dtl::trainer::classification_test
