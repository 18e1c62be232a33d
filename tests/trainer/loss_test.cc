#include "trainer/model/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trainer/model/label_loss.h"

namespace dtl::trainer::loss_test {
namespace {

// Expected values: PyTorch 1.13.1 in double, with the function named in each test.

TEST(Loss, OfOneLabelIsTorchsCrossEntropy) {
  const std::vector<double> x{0.3, -1.2, 2.0};
  EXPECT_NEAR(cross_entropy<double>(x.data(), 3, 1, 0, 0.0, 1.0, nullptr), 1.9016712449527906,
              1e-12);
}

TEST(Loss, OfASmoothedLabelIsTorchsCrossEntropyWithLabelSmoothing) {
  const std::vector<double> x{0.3, -1.2, 2.0};
  std::vector<double> gradient(3);
  EXPECT_NEAR(cross_entropy<double>(x.data(), 3, 1, 1, 0.1, 2.0, gradient.data()),
              3.245004578286124, 1e-12);
  EXPECT_NEAR(gradient[0], 0.23197105770011572, 1e-12);
  EXPECT_NEAR(gradient[1], -1.800031583402344, 1e-12);
  EXPECT_NEAR(gradient[2], 1.5680605257022282, 1e-12);
}

TEST(Loss, OfOneLabelReadsEveryOtherNumberWhenAsked) {
  const std::vector<double> x{0.3, 9, -1.2, 9, 2.0, 9};
  std::vector<double> gradient(6, 7.0);
  EXPECT_NEAR(cross_entropy<double>(x.data(), 3, 2, 0, 0.0, 1.0, gradient.data()),
              1.9016712449527906, 1e-12);
  EXPECT_NEAR(gradient[0] + gradient[2] + gradient[4], 0.0, 1e-12);
  EXPECT_EQ(gradient[1], 7.0);
  EXPECT_EQ(gradient[5], 7.0);
}

TEST(Loss, OfSeveralLabelsIsTorchsBCEWithLogitsLoss) {
  const std::vector<double> x{0.3, -1.2, 2.0};
  const std::vector<float> targets{1, 0, 0.25F};
  std::vector<double> gradient(3);
  EXPECT_NEAR(binary_cross_entropy<double>(x.data(), targets.data(), 3, 2.0, gradient.data()),
              0.8148552409498437, 1e-12);
  EXPECT_NEAR(gradient[0], -0.28370498879222733, 1e-12);
  EXPECT_NEAR(gradient[1], 0.15431681100065492, 1e-12);
  EXPECT_NEAR(gradient[2], 0.4205313853185882, 1e-12);
}

TEST(Loss, OfNumbersIsTheirMeanSquaredError) {
  const std::vector<double> x{1.5, -2.0};
  const std::vector<float> targets{1.0F, 1.0F};
  std::vector<double> gradient(2);
  EXPECT_DOUBLE_EQ(squared_error<double>(x.data(), targets.data(), 2, 3.0, gradient.data()), 4.625);
  EXPECT_DOUBLE_EQ(gradient[0], 1.5);
  EXPECT_DOUBLE_EQ(gradient[1], -9.0);
}

TEST(Loss, StaysFiniteForOutputsThatLeaveNoDoubt) {
  const std::vector<float> x{3000.0F, -3000.0F};
  const std::vector<float> targets{0.0F, 1.0F};
  std::vector<float> gradient(2);
  EXPECT_DOUBLE_EQ(cross_entropy<float>(x.data(), 2, 1, 1, 0.0, 1.0F, gradient.data()), 6000.0);
  EXPECT_EQ(gradient, (std::vector<float>{1.0F, -1.0F}));
  EXPECT_DOUBLE_EQ(binary_cross_entropy<float>(x.data(), targets.data(), 2, 1.0F, gradient.data()),
                   3000.0);
  EXPECT_EQ(gradient, (std::vector<float>{0.5F, -0.5F}));
}

// As -x of a NaN is: the sign that x86 gives to inf - inf.
TEST(Loss, IsNaNWithoutASignWhateverTheOutputsSignIs) {
  Batch batch;
  batch.numbers = {0};
  batch.labels = {1};
  batch.targets = {1.0F, 0.0F};
  ModelConfig config;
  config.labels = {"no", "yes"};
  const std::vector<float> x{std::copysign(NAN, -1.0F), std::copysign(NAN, -1.0F)};
  for (const Problem problem :
       {Problem::kSingleLabel, Problem::kMultiLabel, Problem::kRegression}) {
    config.problem = problem;
    const double loss = loss_sum<float>(config, {}, batch, x.data(), 1.0F, nullptr);
    EXPECT_TRUE(std::isnan(loss));
    EXPECT_FALSE(std::signbit(loss)) << static_cast<int>(problem);
  }
}

TEST(MeanLoss, IsThatOfEachProblem) {
  Examples examples;
  examples.labels = {1};
  EXPECT_NEAR(mean_loss(Problem::kSingleLabel, examples, std::vector<float>{0, 0}), std::log(2.0),
              1e-12);
  EXPECT_NEAR(mean_loss(Problem::kSingleLabel, examples, std::vector<float>{0, std::log(3.0F)},
                        {.label_smoothing = 0.5}),
              std::log(4.0) - 0.75 * std::log(3.0), 1e-6);
  examples.starts = {0, 1, 2};
  examples.targets = {3, 0};
  EXPECT_DOUBLE_EQ(mean_loss(Problem::kRegression, examples, std::vector<float>{1, 0}), 2.0);
  examples.starts = {0, 1};
  examples.targets = {1, 0};
  EXPECT_NEAR(mean_loss(Problem::kMultiLabel, examples, std::vector<float>{800, 0}),
              std::log(2.0) / 2, 1e-12);
}

TEST(MeanLoss, IsNaNWithoutASign) {
  Examples examples;
  examples.labels = {1};
  examples.starts = {0, 1};
  examples.targets = {1, 0};
  const float negative = std::copysign(NAN, -1.0F);
  for (const Problem problem :
       {Problem::kSingleLabel, Problem::kMultiLabel, Problem::kRegression}) {
    const double loss = mean_loss(problem, examples, std::vector<float>{negative, negative});
    EXPECT_TRUE(std::isnan(loss));
    EXPECT_FALSE(std::signbit(loss)) << static_cast<int>(problem);
  }
}

// torch.nn.CrossEntropyLoss(weight=(0.5, 2, 3), label_smoothing=0.1, reduction="sum").
TEST(WeightedLoss, DividesByTheWeightsOfTheLabels) {
  Examples examples;
  examples.labels = {1, 2};
  examples.starts = {0, 1, 2};
  const std::vector<float> x{0, 0, 0, 0, 0, std::log(2.0F)};
  const LossSettings settings{.label_weights = {0.5, 2, 3}};
  EXPECT_NEAR(mean_loss(Problem::kSingleLabel, examples, x, settings),
              (2 * std::log(3.0) + 3 * std::log(2.0)) / 5, 1e-7);
}

// (1 - p)^2 times the cross entropy, p = 1/4; of a sigmoid p = 1/2 twice.
TEST(FocalLoss, ScalesTheCrossEntropy) {
  Examples examples;
  examples.labels = {1};
  examples.starts = {0, 1};
  examples.targets = {1, 0};
  const LossSettings settings{.focal_gamma = 2};
  const std::vector<float> quarter{std::log(3.0F), 0}, half{0, 0};
  EXPECT_NEAR(mean_loss(Problem::kSingleLabel, examples, quarter, settings),
              0.75 * 0.75 * std::log(4.0), 1e-6);
  EXPECT_NEAR(mean_loss(Problem::kMultiLabel, examples, half, settings), 0.25 * std::log(2.0),
              1e-12);
}

TEST(FocalLoss, StaysFiniteForOutputsThatLeaveNoDoubt) {
  for (const double gamma : {0.5, 1.0, 2.0}) {
    const std::vector<double> x{3000, -3000};
    std::vector<double> gradient(2);
    EXPECT_DOUBLE_EQ(focal_loss<double>(x.data(), 2, 0, {}, gamma, 1.0, gradient.data()), 0.0);
    EXPECT_EQ(gradient, (std::vector<double>{0, 0}));
    EXPECT_DOUBLE_EQ(focal_loss<double>(x.data(), 2, 1, {}, gamma, 1.0, gradient.data()), 6000.0);
    EXPECT_EQ(gradient, (std::vector<double>{1, -1}));
    const std::vector<float> targets{0, 1};
    EXPECT_DOUBLE_EQ(weighted_binary_cross_entropy<double>(x.data(), targets.data(), 2, {}, gamma,
                                                           1.0, gradient.data()),
                     3000.0);
    EXPECT_EQ(gradient, (std::vector<double>{0.5, -0.5}));
  }
}

}  // namespace
}  // namespace dtl::trainer::loss_test
