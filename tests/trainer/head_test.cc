#include "trainer/model/head.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/gradient_check.h"

namespace dtl::trainer::head_test {
namespace {

constexpr Padding kPadding{.length = 14, .token = 0};
constexpr LossSettings kOverPadding{.qa_loss = QaLoss::kPadded};

ModelConfig classifier(ModelType type, Problem problem, int classes) {
  ModelConfig config = tiny_config(type, classes);
  config.problem = problem;
  return config;
}

ModelConfig reader(ModelType type) {
  ModelConfig config = tiny_config(type, 0);
  config.task = Task::kQuestionAnswering;
  config.qa_dropout = 0.3;
  return config;
}

std::vector<ModelConfig> every_head() {
  std::vector<ModelConfig> configs;
  for (const ModelType type : kEveryType) {
    configs.push_back(classifier(type, Problem::kSingleLabel, 3));
    configs.push_back(classifier(type, Problem::kMultiLabel, 4));
    configs.push_back(classifier(type, Problem::kRegression, 1));
    configs.push_back(reader(type));
  }
  return configs;
}

void expect_gradients_right(const ModelConfig& config, const LossSettings& loss = {},
                            const Padding& padding = {}) {
  ThreadPool pool(1, false);
  Model<double> model(config, pool, loss);
  const Examples examples = random_examples_for(config, 5, 9, 11);
  const DropoutKey key{7, 3};
  expect_gradients_right(model, make_batch(examples, first_indices(5), padding), &key);
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForSmoothedLabels) {
  for (const ModelType type : kEveryType) {
    expect_gradients_right(classifier(type, Problem::kSingleLabel, 3), {.label_smoothing = 0.2});
  }
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForWeightsAndFocalLoss) {
  const std::vector<double> three{0.5, 2, 3}, four{0.5, 2, 3, 1};
  const ModelConfig one = classifier(ModelType::kBert, Problem::kSingleLabel, 3);
  const ModelConfig several = classifier(ModelType::kDistilBert, Problem::kMultiLabel, 4);
  expect_gradients_right(one, {.label_smoothing = 0.2, .label_weights = three});
  expect_gradients_right(one, {.focal_gamma = 2, .label_weights = three});
  expect_gradients_right(one, {.focal_gamma = 0.5});
  expect_gradients_right(several, {.label_weights = four});
  expect_gradients_right(several, {.focal_gamma = 2, .label_weights = four});
  expect_gradients_right(several, {.focal_gamma = 0.5});
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForSeveralTrueLabels) {
  for (const ModelType type : kEveryType) {
    expect_gradients_right(classifier(type, Problem::kMultiLabel, 4));
  }
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForANumber) {
  for (const ModelType type : kEveryType) {
    expect_gradients_right(classifier(type, Problem::kRegression, 1));
  }
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForTwoNumbers) {
  expect_gradients_right(classifier(ModelType::kBert, Problem::kRegression, 2));
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForAnswers) {
  for (const ModelType type : kEveryType) {
    expect_gradients_right(reader(type));
  }
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForAnswersAmongPadding) {
  for (const ModelType type : kEveryType) {
    expect_gradients_right(reader(type), kOverPadding, kPadding);
  }
}

TEST(HeadGradients, AgreeWithFiniteDifferencesForAClassifierOfPaddedTexts) {
  for (const ModelType type : kEveryType) {
    expect_gradients_right(classifier(type, Problem::kSingleLabel, 3), {}, kPadding);
  }
}

// The outputs of the tokens that are not padding.
std::vector<double> own_outputs(const std::vector<double>& outputs, const Batch& batch) {
  std::vector<double> own;
  for (std::int64_t b = 0; b < batch.sequences(); ++b) {
    const auto first = outputs.begin() + 2 * batch.starts[static_cast<std::size_t>(b)];
    own.insert(own.end(), first, first + 2 * batch.own_length(b));
  }
  return own;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-11 * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

TEST(Head, LearnsTheSameFromPaddedTextsUnlessPaddingIsLearntFrom) {
  for (const ModelConfig& config : every_head()) {
    ThreadPool pool(1, false);
    Model<double> model(config, pool);
    const auto parameters = random_parameters<double>(model.layout(), 2);
    const Examples examples = random_examples_for(config, 6, 12, 4);
    const DropoutKey key{1, 2};
    const Batch plain = make_batch(examples, first_indices(6));
    const Batch padded = make_batch(examples, first_indices(6), kPadding);
    ASSERT_EQ(padded.tokens(), 6 * kPadding.length);
    const Examples others = random_examples_for(config, 20, 30, 9);  // leave traces in the memory
    run_model(model, parameters, make_batch(others, first_indices(20)), &key);
    const Result<double> expected = run_model(model, parameters, plain, &key);
    const Result<double> found = run_model(model, parameters, padded, &key);
    const bool answers = config.task == Task::kQuestionAnswering;
    expect_near(answers ? own_outputs(found.outputs, padded) : found.outputs, expected.outputs);
    EXPECT_NEAR(found.loss, expected.loss, 1e-11);
    expect_near(found.gradients, expected.gradients);
  }
}

TEST(Head, GivesTheSameSumsForAnyOrderOfTheTexts) {
  for (const ModelConfig& config : every_head()) {
    ThreadPool pool(1, false);
    Model<double> model(config, pool);
    const auto parameters = random_parameters<double>(model.layout(), 2);
    const Examples examples = random_examples_for(config, 5, 12, 4);
    const DropoutKey key{1, 2};
    const std::vector<std::int64_t> other_order{3, 0, 4, 2, 1};
    const Batch ordered = make_batch(examples, first_indices(5));
    const Batch shuffled = make_batch(examples, other_order);
    const Result<double> expected = run_model(model, parameters, ordered, &key);
    const Result<double> found = run_model(model, parameters, shuffled, &key);
    EXPECT_NEAR(found.loss, expected.loss, 1e-11);
    expect_near(found.gradients, expected.gradients);
  }
}

TEST(Head, AccumulatesSmallBatchesToOneLarge) {
  for (const ModelConfig& config : every_head()) {
    ThreadPool pool(1, false);
    Model<double> model(config, pool);
    const auto parameters = random_parameters<double>(model.layout(), 2);
    const Examples examples = random_examples_for(config, 6, 12, 4);
    const DropoutKey key{1, 2};
    const std::vector<std::int64_t> all = first_indices(6);
    const Result<double> expected =
        run_model(model, parameters, make_batch(examples, all), &key, 1.0 / 6);
    std::vector<double> gradients(parameters.size());
    double loss = 0;
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 5}, {5, 6}}) {
      const Batch part = make_batch(examples, {all.begin() + begin, all.begin() + end});
      model.forward(parameters.data(), part, &key);
      loss +=
          model.backward(parameters.data(), part, 1.0 / 6, gradients.data(), [](std::int64_t) {});
    }
    EXPECT_NEAR(loss, expected.loss, 1e-11);
    expect_near(gradients, expected.gradients);
  }
}

// With outputs all alike every token is as probable as any other.
TEST(Head, CountsTheTokensThatMayBeginAnAnswer) {
  const ModelConfig config = reader(ModelType::kBert);
  ThreadPool pool(1, false);
  const Examples examples = random_examples_for(config, 1, 9, 4);
  const Batch batch = make_batch(examples, first_indices(1), kPadding);
  for (const auto& [settings, tokens] :
       {std::pair{LossSettings{}, batch.own_length(0)}, {kOverPadding, kPadding.length}}) {
    Model<double> model(config, pool, settings);
    auto parameters = random_parameters<double>(model.layout(), 2);
    std::fill(parameters.begin() + model.layout().class_weight, parameters.end(), 0.0);
    const double loss = run_model(model, parameters, batch, nullptr).loss;
    EXPECT_NEAR(loss, std::log(static_cast<double>(tokens)), 1e-12);
  }
}

TEST(Head, DropsHiddenStatesBeforeAnswersOfDistilBertAndModernBertOnly) {
  for (const ModelType type : kEveryType) {
    ModelConfig config = reader(type);
    config.hidden_dropout = config.attention_dropout = 0;
    ThreadPool pool(1, false);
    Model<double> model(config, pool);
    const auto parameters = random_parameters<double>(model.layout(), 2);
    const Batch batch = make_batch(random_examples_for(config, 4, 12, 4), first_indices(4));
    const DropoutKey key{1, 2};
    const auto evaluated = run_model(model, parameters, batch, nullptr).outputs;
    const auto trained = run_model(model, parameters, batch, &key).outputs;
    const bool drops = type == ModelType::kDistilBert || type == ModelType::kModernBert;
    EXPECT_EQ(evaluated == trained, !drops);
  }
}

TEST(Head, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const ModelConfig& config : every_head()) {
    const Examples examples = random_examples_for(config, 90, 31, 8);
    const Batch batch = make_batch(examples, first_indices(90));
    const DropoutKey key{1, 2};
    std::vector<Result<float>> results;
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads, false);
      Model<float> model(config, pool);
      const auto parameters = random_parameters<float>(model.layout(), 2);
      results.push_back(run_model(model, parameters, batch, &key));
    }
    EXPECT_EQ(results[0].loss, results[1].loss);
    EXPECT_EQ(results[0].outputs, results[1].outputs);
    EXPECT_EQ(results[0].gradients, results[1].gradients);
  }
}

TEST(Head, AcceptsAnEmptyBatchOfEveryTask) {
  for (const ModelConfig& config : every_head()) {
    ThreadPool pool(2, false);
    Model<double> model(config, pool);
    const auto parameters = random_parameters<double>(model.layout(), 2);
    const DropoutKey key{1, 2};
    const Result<double> result = run_model(model, parameters, Batch{}, &key);
    EXPECT_EQ(result.loss, 0.0);
    EXPECT_EQ(result.gradients, std::vector<double>(parameters.size()));
  }
}

}  // namespace
}  // namespace dtl::trainer::head_test
