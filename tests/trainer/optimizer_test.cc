#include "trainer/step/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/model_support.h"
#include "trainer/maths/kernels.h"
#include "trainer/step/optimizer_state.h"

namespace dtl::trainer::optimizer_test {
namespace {

constexpr OptimizerKind kKinds[] = {OptimizerKind::kAdamTorch, OptimizerKind::kAdamHuggingFace,
                                    OptimizerKind::kSgd, OptimizerKind::kAdafactor,
                                    OptimizerKind::kLion};

TEST(OptimizerKind, HasHuggingFacesNames) {
  EXPECT_EQ(optimizer_named("adamw_torch"), OptimizerKind::kAdamTorch);
  EXPECT_EQ(optimizer_named("adamw_torch_fused"), OptimizerKind::kAdamTorch);
  EXPECT_EQ(optimizer_named("adamw_hf"), OptimizerKind::kAdamHuggingFace);
  EXPECT_EQ(optimizer_named("lion_32bit"), OptimizerKind::kLion);
  EXPECT_EQ(optimizer_named("adagrad"), std::nullopt);
  for (const OptimizerKind kind : kKinds) EXPECT_EQ(optimizer_named(optimizer_name(kind)), kind);
}

// One number after another, in double: the formulas of OptimizerKind, step `t` from 1.
struct Scalar {
  double p = 0, m = 0, v = 0;

  void step(OptimizerKind kind, double t, double rate, double g, double decay, double epsilon) {
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double bc1 = 1 - std::pow(0.9, t), bc2 = 1 - std::pow(0.999, t);
    if (kind == OptimizerKind::kAdamTorch) {
      p *= 1 - rate * decay;
      p -= rate * (m / bc1) / (std::sqrt(v / bc2) + epsilon);
    } else {
      p -= rate * std::sqrt(bc2) / bc1 * m / (std::sqrt(v) + epsilon);
      p -= rate * decay * p;
    }
  }
};

// Three clipped, decaying steps; a large epsilon shows where it stands.
void expect_direct_computation(OptimizerKind kind) {
  const ParameterLayout layout = layout_parameters(tiny_config(ModelType::kBert));
  OptimizerSettings settings;
  settings.kind = kind;
  settings.total_steps = 10;
  settings.learning_rate = 0.01;
  settings.weight_decay = 0.1;
  settings.epsilon = 1e-3;
  settings.max_grad_norm = 0.5;
  ThreadPool pool(2, false);
  const Optimizer optimizer(layout, settings, pool);
  TrainingState state =
      state_at_start(random_parameters<float>(layout, 1), optimizer_state(layout, settings));
  std::vector<Scalar> expected(state.parameters.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i].p = static_cast<double>(state.parameters[i]);
  }
  for (int t = 1; t <= 3; ++t) {
    const auto gradients = random_parameters<float>(layout, 10U + static_cast<unsigned>(t));
    const double norm = 100.0 + t, clip = 0.5 / (norm + 1e-6);
    const double rate = 0.01 * (10 - (t - 1)) / 10;
    EXPECT_DOUBLE_EQ(optimizer.step(norm, gradients.data(), state), rate);
    EXPECT_EQ(state.step, t);
    for (const ParameterInfo& tensor : layout.tensors) {
      for (std::int64_t k = tensor.offset; k < tensor.offset + tensor.count; ++k) {
        const auto i = static_cast<std::size_t>(k);
        expected[i].step(kind, t, rate, static_cast<double>(gradients[i]) * clip,
                         tensor.decay ? 0.1 : 0.0, 1e-3);
        ASSERT_NEAR(static_cast<double>(state.parameters[i]), expected[i].p, 1e-6) << tensor.name;
        ASSERT_NEAR(static_cast<double>(state.m[i]), expected[i].m, 1e-9) << tensor.name;
        // Relative: 0.001 computed as 1 - 0.999 in float would be off by 1.3e-5.
        ASSERT_NEAR(static_cast<double>(state.v[i]), expected[i].v, 1e-6 * expected[i].v);
      }
    }
  }
}

TEST(AdamW, AgreesWithADirectComputationOfTorchsForm) {
  expect_direct_computation(OptimizerKind::kAdamTorch);
}

TEST(AdamW, AgreesWithADirectComputationOfHuggingFacesForm) {
  expect_direct_computation(OptimizerKind::kAdamHuggingFace);
}

TEST(AdamW, ClipsOnlyWhatIsLongerThanAllowed) {
  const ParameterLayout layout = layout_parameters(tiny_config(ModelType::kBert));
  const auto gradients = random_parameters<float>(layout, 2);
  ThreadPool pool(1, false);
  const auto first_m = [&](double limit, double norm) {
    OptimizerSettings settings;
    settings.max_grad_norm = limit;
    TrainingState state =
        state_at_start(random_parameters<float>(layout, 1), optimizer_state(layout, settings));
    Optimizer(layout, settings, pool).step(norm, gradients.data(), state);
    return state.m.front();
  };
  const float whole = 0.1F * gradients.front();
  EXPECT_FLOAT_EQ(first_m(1.0, 0.9), whole);
  EXPECT_FLOAT_EQ(first_m(0.0, 50.0), whole);
  EXPECT_FLOAT_EQ(first_m(1.0, 4.0), whole / 4);
}

// Ranks of other numbers of threads must end with the same bits.
TEST(Optimizers, GiveTheSameBitsOnAnyNumberOfThreads) {
  const ParameterLayout layout = layout_parameters(tiny_config(ModelType::kBert));
  for (const OptimizerKind kind : kKinds) {
    OptimizerSettings settings;
    settings.kind = kind;
    settings.total_steps = 9;
    settings.learning_rate = 0.01;
    settings.weight_decay = 0.1;
    settings.momentum = 0.9;
    const auto after_three = [&](int threads) {
      ThreadPool pool(threads, false);
      const Optimizer optimizer(layout, settings, pool);
      TrainingState state =
          state_at_start(random_parameters<float>(layout, 1), optimizer_state(layout, settings));
      for (unsigned t = 2; t < 5; ++t) {
        bool called = false;
        optimizer.step(3.0, random_parameters<float>(layout, t).data(), state,
                       [&] { called = true; });
        EXPECT_TRUE(called);
      }
      return state;
    };
    const TrainingState one = after_three(1), four = after_three(4);
    EXPECT_EQ(one.parameters, four.parameters) << optimizer_name(kind);
    EXPECT_EQ(one.m, four.m) << optimizer_name(kind);
    EXPECT_EQ(one.v, four.v) << optimizer_name(kind);
  }
}

TEST(Optimizers, KeepNoMoreThanTheyNeed) {
  const ParameterLayout layout = layout_parameters(tiny_config(ModelType::kBert));
  OptimizerSettings settings;
  settings.kind = OptimizerKind::kSgd;
  EXPECT_EQ(optimizer_state(layout, settings).m_size, 0);
  settings.momentum = 0.5;
  EXPECT_EQ(optimizer_state(layout, settings).m_size, layout.total);
  settings.kind = OptimizerKind::kAdafactor;
  const OptimizerState kept = optimizer_state(layout, settings);
  EXPECT_EQ(kept.m_size, 0);
  EXPECT_LT(kept.v_size, layout.total / 5);
}

TEST(AdamW, DecaysMatricesButNeitherBiasesNorNorms) {
  for (const ModelType type : kEveryType) {
    for (const ParameterInfo& tensor : layout_parameters(tiny_config(type)).tensors) {
      const bool bias = tensor.name.find("bias") != std::string::npos;
      const bool norm = tensor.name.find("LayerNorm") != std::string::npos ||
                        tensor.name.find("norm.") != std::string::npos;
      EXPECT_EQ(tensor.decay, !bias && !norm) << tensor.name;
    }
  }
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
}  // namespace dtl::trainer::optimizer_test
