#include "trainer/data/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trainer/data/label_scores.h"
#include "trainer/data/ranking.h"

namespace dtl::trainer::metrics_test {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsNan;
using testing::Pair;

using Ids = std::vector<std::int32_t>;
using Floats = std::vector<float>;

TEST(Metrics, CountsHits) {
  EXPECT_DOUBLE_EQ(accuracy(Ids{0, 1, 2, 1}, Ids{0, 2, 2, 1}), 0.75);
}

TEST(Metrics, ComputesF1OfOneClass) {
  const Ids truth{1, 1, 1, 0, 0}, answers{1, 0, 0, 1, 0};
  EXPECT_DOUBLE_EQ(f1_of_class(truth, answers, 1), 0.4);  // 1 hit, 2 answered, 3 present
  EXPECT_DOUBLE_EQ(f1_of_class(Ids{0, 0}, Ids{0, 0}, 1), 0.0);
}

TEST(Metrics, ComputesMatthewsCorrelationFromTheTableOfTwoClasses) {
  // TP 3, TN 2, FP 1, FN 2.
  const Ids truth{1, 1, 1, 1, 1, 0, 0, 0}, answers{1, 1, 1, 0, 0, 1, 0, 0};
  EXPECT_NEAR(matthews_correlation(truth, answers), (3 * 2 - 1 * 2) / std::sqrt(4.0 * 5 * 3 * 4),
              1e-15);
  EXPECT_DOUBLE_EQ(matthews_correlation(Ids{0, 1}, Ids{1, 1}), 0.0);
  EXPECT_DOUBLE_EQ(matthews_correlation(Ids{0, 1, 2}, Ids{0, 1, 2}), 1.0);
}

TEST(Metrics, CorrelatesValuesAndRanks) {
  EXPECT_NEAR(pearson(Floats{1, 2, 3, 4}, Floats{1, 3, 2, 4}), 0.8, 1e-15);
  EXPECT_NEAR(spearman(Floats{1, 2, 3, 4}, Floats{1, 10, 100, 1000}), 1.0, 1e-15);
  // Ranks of the ties: 1.5, 1.5, 3 and 1, 2.5, 2.5.
  EXPECT_NEAR(spearman(Floats{5, 5, 9}, Floats{0, 7, 7}), 0.5, 1e-15);
  EXPECT_TRUE(std::isnan(pearson(Floats{1, 2}, Floats{3, 3})));
  EXPECT_TRUE(std::isnan(spearman(Floats{1, 2}, Floats{3, NAN})));
}

TEST(Metrics, MeasuresSquaredErrors) {
  EXPECT_DOUBLE_EQ(mean_squared_error(Floats{1, 2}, Floats{2, 4}), 2.5);
}

TEST(Metrics, CountALogitAboveTheCutAsAYes) {
  Examples examples;
  examples.targets = {1, 0, 1, 1};
  const Floats logits{2, 0.5F, -1, 0};
  const auto f1 = [&](float cut) {
    return task_metrics({.cut = cut}, Problem::kMultiLabel, examples, logits, {"a", "b"}).front();
  };
  EXPECT_THAT(f1(0), Pair("f1", DoubleNear(0.4, 1e-15)));
  EXPECT_THAT(f1(-0.5F), Pair("f1", DoubleNear(2.0 / 3, 1e-15)));
}

// scikit-learn's roc_auc_score and average_precision_score.
TEST(Ranking, CountsTiesAsHalf) {
  const std::vector<std::uint8_t> truth{0, 0, 1, 1, 1};
  const std::vector<double> scores{0.1, 0.4, 0.35, 0.4, 0.8};
  EXPECT_NEAR(roc_auc(truth, scores), 0.75, 1e-15);
  EXPECT_NEAR(average_precision(truth, scores), 1.0 / 3 + 2.0 / 9 + 1.0 / 4, 1e-15);
}

TEST(Ranking, HasNoAreaWithoutBothKinds) {
  const std::vector<double> scores{1, 2};
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<std::uint8_t>{1, 1}, scores)));
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<std::uint8_t>{0, 0}, scores)));
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<std::uint8_t>{0, 1}, std::vector<double>{1, NAN})));
  EXPECT_EQ(average_precision(std::vector<std::uint8_t>{0, 0}, scores), 0);
}

TEST(LabelProbabilities, AreTheSameBitsInAnyOrderOfLabels) {
  const std::vector<double> p = label_probabilities(
      Problem::kSingleLabel, Floats{0.1F, 0.7F, -3, 2.5F, 2.5F, -3, 0.1F, 0.7F}, 4);
  EXPECT_EQ(p[0], p[6]);
  EXPECT_EQ(p[1], p[7]);
  EXPECT_EQ(p[2], p[5]);
  EXPECT_EQ(p[3], p[4]);
  EXPECT_NEAR(p[0] + p[1] + p[2] + p[3], 1, 1e-15);
  EXPECT_NEAR(label_probabilities(Problem::kMultiLabel, Floats{0}, 1)[0], 0.5, 1e-15);
}

TEST(Metrics, FollowsTheTask) {
  Examples examples;
  examples.labels = {1, 0, 1, 1};
  const Floats logits{0, 1, 0, 1, 1, 0, 0, 1};  // answers 1 1 0 1
  const auto metrics = [&](const char* task) {
    return task_metrics({task}, Problem::kSingleLabel, examples, logits, {"no", "yes"});
  };
  EXPECT_THAT(metrics("sst2"), ElementsAre(Pair("accuracy", 0.5)));
  EXPECT_THAT(metrics("").front(), Pair("accuracy", 0.5));
  EXPECT_THAT(metrics("mrpc"),
              ElementsAre(Pair("accuracy", 0.5), Pair("f1", DoubleNear(2.0 / 3, 1e-15)),
                          Pair("combined_score", DoubleNear(7.0 / 12, 1e-15))));
  EXPECT_THAT(metrics("cola"),
              ElementsAre(Pair("matthews_correlation", DoubleNear(-1.0 / 3, 1e-15))));
}

// precision_recall_fscore_support of scikit-learn gives these for truth 1 0 1 1 0 and answers
// 1 1 0 1 0, and leaves out the third class, which is in neither.
TEST(Metrics, MeasureEachClassOfTheUsersOwnData) {
  Examples examples;
  examples.labels = {1, 0, 1, 1, 0};
  const Floats logits{0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0};
  const MetricList all =
      task_metrics({}, Problem::kSingleLabel, examples, logits, {"no", "yes", "a\nb"});
  EXPECT_THAT(
      all,
      ElementsAre(Pair("accuracy", 0.6), Pair("balanced_accuracy", DoubleNear(7.0 / 12, 1e-15)),
                  Pair("matthews_correlation", DoubleNear(1.0 / 6, 1e-15)),
                  Pair("roc_auc_macro", IsNan()),
                  Pair("roc_auc_weighted", DoubleNear(7.0 / 12, 1e-15)),
                  Pair("f1_macro", DoubleNear(7.0 / 12, 1e-15)),
                  Pair("precision_macro", DoubleNear(7.0 / 12, 1e-15)),
                  Pair("recall_macro", DoubleNear(7.0 / 12, 1e-15)),
                  Pair("f1_weighted", DoubleNear(0.6, 1e-15)),
                  Pair("precision_weighted", DoubleNear(0.6, 1e-15)),
                  Pair("recall_weighted", DoubleNear(0.6, 1e-15)), Pair("f1_class_no", 0.5),
                  Pair("precision_class_no", 0.5), Pair("recall_class_no", 0.5),
                  Pair("f1_class_yes", DoubleNear(2.0 / 3, 1e-15)),
                  Pair("precision_class_yes", DoubleNear(2.0 / 3, 1e-15)),
                  Pair("recall_class_yes", DoubleNear(2.0 / 3, 1e-15)), Pair("f1_class_a\\nb", 0.0),
                  Pair("precision_class_a\\nb", 0.0), Pair("recall_class_a\\nb", 0.0)));
  EXPECT_THAT(main_metrics(all),
              ElementsAre(Pair("accuracy", 0.6), Pair("f1_macro", DoubleNear(7.0 / 12, 1e-15))));
}

TEST(Metrics, HaveTheSameNamesWithoutExamples) {
  const auto names = [](const MetricList& metrics) {
    std::vector<std::string> list;
    for (const auto& [name, value] : metrics) list.push_back(name);
    return list;
  };
  Examples examples;
  examples.labels = {1, 0};
  examples.targets = {1, 0, 0, 1};
  const Floats logits{0, 1, 1, 0};
  for (const Problem problem : {Problem::kSingleLabel, Problem::kMultiLabel}) {
    EXPECT_EQ(names(task_metrics({}, problem, examples, logits, {"a", "b"})),
              names(task_metrics({}, problem, {}, {}, {"a", "b"})));
  }
  for (const char* task : {"cola", "mrpc", "sst2"}) {
    EXPECT_EQ(names(task_metrics({task}, Problem::kSingleLabel, examples, logits, {"a", "b"})),
              names(task_metrics({task}, Problem::kSingleLabel, {}, {}, {"a", "b"})));
  }
}

TEST(Metrics, PutTheChosenOneFirst) {
  Examples examples;
  examples.labels = {1, 0, 1, 1};
  const Floats logits{0, 1, 0, 1, 1, 0, 0, 1};  // answers 1 1 0 1
  const auto metrics = [&](const char* task, const char* chosen) {
    return task_metrics({task, chosen}, Problem::kSingleLabel, examples, logits, {"no", "yes"});
  };
  EXPECT_THAT(metrics("sst2", "f1"),
              ElementsAre(Pair("f1", DoubleNear(2.0 / 3, 1e-15)), Pair("accuracy", 0.5)));
  const MetricList own = metrics("", "roc_auc");
  EXPECT_THAT(own.front(), Pair("roc_auc", DoubleNear(1.0 / 3, 1e-15)));
  EXPECT_EQ(own.size(), metrics("", "").size());
  EXPECT_THAT(main_metrics(own), ElementsAre(own.front(), Pair("accuracy", 0.5),
                                             Pair("f1_macro", DoubleNear(1.0 / 3, 1e-15))));
}

TEST(Metrics, HaveNamesToChooseFrom) {
  EXPECT_THAT(metric_names("", Problem::kSingleLabel, {"a", "b"}), Contains("precision"));
  EXPECT_THAT(metric_names("", Problem::kSingleLabel, {"a", "b", "c"}),
              testing::Not(Contains("precision")));
  EXPECT_THAT(metric_names("cola", Problem::kSingleLabel, {"a", "b"}), Contains("f1_macro"));
  EXPECT_THAT(metric_names("", Problem::kRegression, {"LABEL_0"}),
              ElementsAre("mse", "rmse", "mae", "r2", "pearson", "spearmanr"));
}

TEST(Metrics, CombinesTheCorrelationsOfStsb) {
  Examples examples;
  examples.targets = {1, 2, 3, 4};
  const Floats logits{1, 3, 2, 4};
  EXPECT_THAT(task_metrics({"stsb"}, Problem::kRegression, examples, logits, {"LABEL_0"}),
              ElementsAre(Pair("pearson", DoubleNear(0.8, 1e-15)),
                          Pair("spearmanr", DoubleNear(0.8, 1e-15)),
                          Pair("combined_score", DoubleNear(0.8, 1e-15))));
  EXPECT_THAT(task_metrics({}, Problem::kRegression, examples, logits, {"LABEL_0"}),
              ElementsAre(Pair("mse", 0.5)));
}

}  // namespace
}  // namespace dtl::trainer::metrics_test
