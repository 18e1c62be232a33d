#include "trainer/model/embedding_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/trainer/gradient_check.h"

namespace dtl::trainer::embedding_head_test {
namespace {

using ::testing::Each;
using ::testing::Eq;

constexpr Padding kPadding{.length = 14, .token = 0};
constexpr TextPooling kPoolings[] = {TextPooling::kCls,          TextPooling::kMean,
                                     TextPooling::kMax,          TextPooling::kMeanSqrtLength,
                                     TextPooling::kWeightedMean, TextPooling::kLastToken};

ModelConfig embedder(TextPooling pooling, const std::vector<DenseLayer>& dense = {},
                     bool normalize = false, ModelType type = ModelType::kBert) {
  ModelConfig config = tiny_config(type, 0);
  config.task = Task::kEmbeddings;
  config.embedding.pooling = pooling;
  config.embedding.dense = dense;
  config.embedding.normalize = normalize;
  return config;
}

std::vector<ModelConfig> every_head() {
  std::vector<ModelConfig> configs;
  for (const TextPooling pooling : kPoolings) {
    configs.push_back(embedder(pooling));
    configs.push_back(embedder(pooling, {{.outputs = 7}}, true));
  }
  for (const DenseActivation activation : {DenseActivation::kIdentity, DenseActivation::kRelu,
                                           DenseActivation::kGelu, DenseActivation::kSigmoid}) {
    configs.push_back(embedder(TextPooling::kMean, {{11, false, activation}, {5, true, activation}},
                               activation == DenseActivation::kGelu));
  }
  for (const ModelType type : kEveryType) {
    configs.push_back(embedder(TextPooling::kMean, {}, true, type));
  }
  configs.push_back(embedder(TextPooling::kCls, {}, false, ModelType::kDistilBert));
  return configs;
}

// Six texts, in three pairs.
Examples random_pairs(const ModelConfig& config, int texts = 6) {
  Examples examples = random_examples(texts, 12, config.vocab_size, 2, 4);
  examples.labels.clear();
  examples.texts = 2;
  return examples;
}

void expect_gradients_right(ModelConfig config, const Padding& padding) {
  config.layers = 1;
  ThreadPool pool(1, false);
  Model<double> model(config, pool, {.embedding = {.scale = 2}});
  const DropoutKey key{7, 3};
  expect_gradients_right(model, make_batch(random_pairs(config), first_indices(3), padding), &key);
}

TEST(EmbeddingGradients, AgreeWithFiniteDifferences) {
  for (const ModelConfig& config : every_head()) expect_gradients_right(config, {});
}

TEST(EmbeddingGradients, AgreeWithFiniteDifferencesForPaddedTexts) {
  for (const TextPooling pooling : kPoolings) expect_gradients_right(embedder(pooling), kPadding);
}

TEST(EmbeddingHead, PoolsTheTokensOfEachText) {
  const Examples examples = random_pairs(embedder(TextPooling::kMean), 20);
  const Batch batch = make_batch(examples, first_indices(10), kPadding);
  std::map<TextPooling, std::vector<double>> rows;
  for (const TextPooling pooling : kPoolings) {
    ThreadPool pool(1, false);
    Model<double> model(embedder(pooling), pool);
    const auto parameters = random_parameters<double>(model.layout(), 2);
    const double* outputs = model.forward_only(parameters.data(), batch);
    rows[pooling] = {outputs, outputs + 20 * 24};
  }
  int of_two = 0;
  for (std::size_t i = 0; i < 20 * 24; ++i) {
    const auto n = static_cast<double>(batch.own_lengths[i / 24]);
    EXPECT_NEAR(rows[TextPooling::kMeanSqrtLength][i], rows[TextPooling::kMean][i] * std::sqrt(n),
                1e-12);
    EXPECT_GE(rows[TextPooling::kMax][i], rows[TextPooling::kMean][i] - 1e-12);
    EXPECT_GE(rows[TextPooling::kMax][i], rows[TextPooling::kCls][i] - 1e-12);
    EXPECT_GE(rows[TextPooling::kMax][i], rows[TextPooling::kLastToken][i]);
    if (n == 2) {
      ++of_two;
      EXPECT_NEAR(rows[TextPooling::kWeightedMean][i],
                  (rows[TextPooling::kCls][i] + 2 * rows[TextPooling::kLastToken][i]) / 3, 1e-12);
    }
  }
  EXPECT_GT(of_two, 0);
}

TEST(EmbeddingHead, DividesByTheLength) {
  const ModelConfig config = embedder(TextPooling::kMean, {{.outputs = 7}}, true);
  ThreadPool pool(1, false);
  Model<double> model(config, pool);
  const auto parameters = random_parameters<double>(model.layout(), 2);
  const Batch batch = make_batch(random_pairs(config), first_indices(3));
  const double* outputs = model.forward_only(parameters.data(), batch);
  std::vector<double> lengths;
  for (int b = 0; b < 6; ++b) {
    double squares = 0;
    for (int i = 0; i < 7; ++i) squares += outputs[b * 7 + i] * outputs[b * 7 + i];
    lengths.push_back(squares);
  }
  EXPECT_THAT(lengths, Each(::testing::DoubleNear(1, 1e-12)));
}

TEST(EmbeddingHead, HasOnlyTheTensorsOfItsDenseLayers) {
  std::vector<std::string> names;
  const auto layout = layout_parameters(
      embedder(TextPooling::kMean, {{7, false, DenseActivation::kTanh}, {.outputs = 5}}));
  for (const ParameterInfo& tensor : layout.tensors) {
    if (tensor.head) names.push_back(tensor.name);
    EXPECT_EQ(tensor.name.find("pooler"), std::string::npos);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("dense.0.linear.weight", "dense.1.linear.weight",
                                            "dense.1.linear.bias"));
  EXPECT_THAT(layout.tensors.back().shape, ::testing::ElementsAre(5));
  EXPECT_THAT(layout.tensors[layout.tensors.size() - 2].shape, ::testing::ElementsAre(5, 7));
}

TEST(EmbeddingHead, GivesTheSameBitsForAnyNumberOfThreadsAndWithoutKeepingLayers) {
  for (const ModelConfig& config : every_head()) {
    const Batch batch = make_batch(random_pairs(config, 90), first_indices(45));
    std::vector<Result<float>> results;
    const DropoutKey key{1, 2};
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads, false);
      Model<float> model(config, pool);
      const auto parameters = random_parameters<float>(model.layout(), 2);
      results.push_back(run_model(model, parameters, batch, &key));
      const float* outputs = model.forward_only(parameters.data(), batch, &key);
      EXPECT_EQ(std::vector<float>(outputs, outputs + 90 * output_count(config)),
                results.back().outputs);
    }
    EXPECT_THAT(results[1].outputs, Eq(results[0].outputs));
    EXPECT_THAT(results[1].gradients, Eq(results[0].gradients));
  }
}

}  // namespace
}  // namespace dtl::trainer::embedding_head_test
