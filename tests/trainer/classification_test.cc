#include "trainer/tasks/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "trainer/tasks/classifier_loss.h"

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
  ASSERT_EQ(files.size(), 2U);
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

TEST(ClassPredictions, HaveProbabilitiesAndLogitsInJson) {
  Predicted own;
  own.outputs = {0, std::log(3.0F), 1, 1};
  own.prepared.config.labels = {"no", "\"yes\""};
  EXPECT_EQ(own.files(false).at(1).name, "predictions.jsonl");
  EXPECT_EQ(own.files(false).at(1).text,
            "{\"index\": 0, \"line\": 2, \"prediction\": \"\\\"yes\\\"\", \"probabilities\": "
            "{\"no\": 0.25, \"\\\"yes\\\"\": 0.75}, \"logits\": [0, 1.0986123]}\n"
            "{\"index\": 1, \"line\": 5, \"prediction\": \"no\", \"probabilities\": "
            "{\"no\": 0.5, \"\\\"yes\\\"\": 0.5}, \"logits\": [1, 1]}\n");
}

TEST(ClassPredictions, OfSeveralLabelsAreThoseAboveTheThreshold) {
  Predicted several;
  several.prepared.config.problem = Problem::kMultiLabel;
  several.outputs = {0.1F, 2, -3, -1};
  several.settings.multi_label_threshold = 0.25;  // a logit of -1.0986
  EXPECT_EQ(several.files(false).at(0).text, "index\tprediction\tline\n0\tno,yes\t2\n1\tyes\t5\n");
  EXPECT_THAT(several.files(false).at(1).text,
              testing::HasSubstr("\"prediction\": [\"no\", \"yes\"]"));
  several.settings.multi_label_threshold = 0.5;
  EXPECT_EQ(several.files(false).at(0).text, "index\tprediction\tline\n0\tno,yes\t2\n1\t\t5\n");
}

TEST(ClassPredictions, OfNumbersAreTheNumbers) {
  Predicted number;
  number.prepared.config.labels = {"LABEL_0"};
  number.prepared.config.problem = Problem::kRegression;
  number.outputs = {1.5F, -0.12345F};
  EXPECT_EQ(number.files(false).at(1).text,
            "{\"index\": 0, \"line\": 2, \"prediction\": 1.5}\n"
            "{\"index\": 1, \"line\": 5, \"prediction\": -0.12345}\n");
}

TEST(ClassLines, HaveOneLineForEachClassAndTwoForTheMeans) {
  EXPECT_THAT(class_lines(Problem::kSingleLabel, {"no", "yes"}, {{2, 1, 1}, {1, 2, 1}}),
              ElementsAre("  class          precision  recall      f1  examples",
                          "  no                1.0000  0.5000  0.6667         2",
                          "  yes               0.5000  1.0000  0.6667         1",
                          "  mean              0.7500  0.7500  0.6667         3",
                          "  weighted mean     0.8333  0.6667  0.6667         3"));
}

TEST(Evaluations, SayWhichFigureIsNotDefined) {
  Predicted evaluated;
  evaluated.set.examples.labels = {1, 1};
  evaluated.set.examples.starts = {0, 1, 2};
  const ModelOutputs of{evaluated.settings, evaluated.prepared, evaluated.set, evaluated.outputs};
  EXPECT_EQ(kClassification.score(of).lines.back(),
            "  eval_roc_auc is not defined: a label occurs in none or in all of the examples");
}

// label_weights() of the rows' labels.
std::vector<double> weights_of(const std::string& option, Problem problem,
                               const Examples& training) {
  Settings settings;
  settings.label_weights = option;
  ModelConfig config;
  config.labels = {"no", "yes", "maybe"};
  config.problem = problem;
  std::vector<std::string> notices;
  return label_weights(settings, config, training, notices);
}

TEST(LabelWeights, AreThoseOfTheOption) {
  EXPECT_THAT(weights_of("", Problem::kSingleLabel, {}), IsEmpty());
  EXPECT_THAT(weights_of("yes=2.5,no=0.5", Problem::kSingleLabel, {}), ElementsAre(0.5, 2.5, 1));
  try {
    weights_of("yse=2.5", Problem::kSingleLabel, {});
    FAIL() << "it must be refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "--label_weights yes=2.5");
  }
}

TEST(HeadLossOfARun, IsThatOfTheTrainingUnlessAnOptionSaysOtherwise) {
  const HeadLoss trained{.focal_gamma = 2, .label_weights = {1, 3}};
  const auto prepared_with = [&](const Settings& settings) {
    Prepared prepared;
    prepared.config.labels = {"no", "yes"};
    prepared.config.loss = trained;
    choose_head_loss(settings, prepared);
    return prepared;
  };
  Settings settings;
  settings.model = "m";
  settings.do_eval = true;
  EXPECT_EQ(prepared_with(settings).loss, trained);
  EXPECT_THAT(prepared_with(settings).notices,
              ElementsAre("m: eval_loss is computed as in its training, with focal_gamma 2 and "
                          "label_weights"));
  settings.loss_was_said = true;
  EXPECT_EQ(prepared_with(settings).loss, HeadLoss());
  EXPECT_EQ(prepared_with(settings).config.loss, trained);
  settings.do_train = true;
  settings.label_smoothing = 0.1;
  EXPECT_EQ(prepared_with(settings).config.loss, HeadLoss{.label_smoothing = 0.1});
}

// compute_class_weight("balanced") of scikit-learn; for several the ratio that torch's
// BCEWithLogitsLoss proposes.
TEST(LabelWeights, AreBalancedByTheCounts) {
  Examples one, several;
  one.labels = {0, 0, 0, 1, 2, 2};
  several.targets = {1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1};
  one.starts = {0, 1, 2, 3, 4, 5, 6};
  several.starts = {0, 1, 2, 3, 4};
  EXPECT_THAT(weights_of("balanced", Problem::kSingleLabel, one),
              ElementsAre(6.0 / 9, 6.0 / 3, 6.0 / 6));
  EXPECT_THAT(weights_of("balanced", Problem::kMultiLabel, several),
              ElementsAre(1.0 / 3, 3.0, 1.0));
}

}  // namespace
}  // namespace dtl::trainer::classification_test
