#include "trainer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/model_support.h"
#include "trainer/kernels.h"

namespace dtl::trainer {
namespace {

OptimizerSettings settings_of(std::int64_t total, std::int64_t warmup) {
  OptimizerSettings settings;
  settings.learning_rate = 1.0;
  settings.total_steps = total;
  settings.warmup_steps = warmup;
  return settings;
}

TEST(LinearSchedule, RisesOverTheWarmupAndFallsToZero) {
  const OptimizerSettings settings = settings_of(10, 2);
  EXPECT_DOUBLE_EQ(linear_schedule(settings, 0), 0.0);
  EXPECT_DOUBLE_EQ(linear_schedule(settings, 1), 0.5);
  EXPECT_DOUBLE_EQ(linear_schedule(settings, 2), 1.0);
  EXPECT_DOUBLE_EQ(linear_schedule(settings, 9), 1.0 / 8);
  EXPECT_DOUBLE_EQ(linear_schedule(settings, 10), 0.0);
}

TEST(LinearSchedule, StartsAtTheTopWithoutWarmup) {
  EXPECT_DOUBLE_EQ(linear_schedule(settings_of(4, 0), 0), 1.0);
  EXPECT_DOUBLE_EQ(linear_schedule(settings_of(4, 0), 3), 0.25);
}

// One scalar after another, in double, as the paper has it (Loshchilov & Hutter 2019, algorithm 2).
TEST(AdamW, AgreesWithADirectComputation) {
  const ParameterLayout layout = layout_parameters(tiny_config(ModelType::kBert));
  OptimizerSettings settings = settings_of(10, 0);
  settings.learning_rate = 0.01;
  settings.weight_decay = 0.1;
  settings.max_grad_norm = 0.5;
  ThreadPool pool(2, false);
  AdamW optimizer(layout, settings, pool);
  auto parameters = random_parameters<float>(layout, 1);
  std::vector<double> p(parameters.begin(), parameters.end()), m(p.size()), v(p.size());
  const std::vector<std::int32_t> words = {2, 7};
  for (int step = 1; step <= 3; ++step) {
    auto gradients = random_parameters<float>(layout, 10U + static_cast<unsigned>(step));
    const std::int64_t H = 24;
    for (std::int64_t i = 0; i < 40 * H; ++i) {
      if (i / H != 2 && i / H != 7) gradients[static_cast<std::size_t>(i)] = 0;
    }
    const AdamW::Result result = optimizer.step(words, gradients.data(), parameters.data());
    double squares = 0;
    for (const float g : gradients) squares += static_cast<double>(g) * static_cast<double>(g);
    EXPECT_NEAR(result.gradient_norm, std::sqrt(squares), 1e-9 * std::sqrt(squares));
    const double clip = std::min(1.0, 0.5 / (std::sqrt(squares) + 1e-6));
    const double rate = 0.01 * (10 - (step - 1)) / 10;
    for (const ParameterInfo& tensor : layout.tensors) {
      for (std::int64_t k = tensor.offset; k < tensor.offset + tensor.count; ++k) {
        const auto i = static_cast<std::size_t>(k);
        const double g = static_cast<double>(gradients[i]) * clip;
        if (tensor.decay) p[i] *= 1 - rate * 0.1;
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        const double m_hat = m[i] / (1 - std::pow(0.9, step));
        const double v_hat = v[i] / (1 - std::pow(0.999, step));
        p[i] -= rate * m_hat / (std::sqrt(v_hat) + 1e-8);
        ASSERT_NEAR(static_cast<double>(parameters[i]), p[i], 2e-6) << tensor.name;
      }
    }
  }
}

TEST(AdamW, DecaysMatricesButNeitherBiasesNorNorms) {
  for (const ModelType type : {ModelType::kBert, ModelType::kDistilBert}) {
    for (const ParameterInfo& tensor : layout_parameters(tiny_config(type)).tensors) {
      const bool bias = tensor.name.ends_with(".bias");
      const bool norm = tensor.name.find("LayerNorm") != std::string::npos ||
                        tensor.name.find("layer_norm") != std::string::npos;
      EXPECT_EQ(tensor.decay, !bias && !norm) << tensor.name;
    }
  }
}

TEST(Parameters, CountAsTheModelCardsSay) {
  ModelConfig config;
  config.labels = {"0", "1"};
  EXPECT_EQ(parameter_count(layout_parameters(config)), 109'483'778);  // bert-base-uncased
  config.type = ModelType::kDistilBert;
  config.layers = 6;
  EXPECT_EQ(parameter_count(layout_parameters(config)), 66'955'010);  // distilbert-base-uncased
}

// Known answers of Philox4x32-10: counter and key all zero, and all ones (Random123's kat_vectors).
TEST(DropoutMask, ComesFromPhilox) {
  const std::uint32_t zero[3] = {0, 0, 0},
                      expected[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (std::uint32_t threshold : {0x1000U, 0x6000U, 0x8000U, 0xD000U, 0xF000U}) {
    std::uint8_t mask[8];
    optimizer_kernels().dropout_mask(8, threshold, zero, zero, mask);
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t half = (expected[i / 2] >> (i % 2 * 16)) & 0xFFFF;
      EXPECT_EQ(mask[i], half < threshold ? 1 : 0) << "element " << i;
    }
  }
}

TEST(DropoutMask, KeepsTheAskedForShareAndIsPrefixStable) {
  const std::uint32_t key[2] = {1, 2}, stream[3] = {3, 4, 5};
  std::vector<std::uint8_t> mask(100'000), prefix(777);
  optimizer_kernels().dropout_mask(100'000, 58982, key, stream, mask.data());
  optimizer_kernels().dropout_mask(777, 58982, key, stream, prefix.data());
  double kept = 0;
  for (const std::uint8_t bit : mask) kept += bit;
  EXPECT_NEAR(kept / 100'000, 0.9, 0.005);  // 5 standard deviations
  EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), mask.begin()));
}

}  // namespace
}  // namespace dtl::trainer
