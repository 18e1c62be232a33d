#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/sanitized.h"
#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/maths/gemm_bf16.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer::mixed_precision_test {
namespace {

ModelConfig config_for(ModelType type) {
  ModelConfig config = tiny_config(type);
  config.hidden_size = 48;
  config.intermediate_size = 96;
  return config;
}

// The losses of `steps` steps, dropout on.
std::vector<double> losses(ModelType type, Precision precision, int steps, int threads = 1) {
  const ModelConfig config = config_for(type);
  const Examples examples = random_examples(60, 24, config.vocab_size, 3, 21);
  TrainSettings settings;
  settings.global_batch = 20;
  settings.optimizer.learning_rate = 1e-3;
  settings.optimizer.total_steps = steps;
  std::vector<double> result;
  run_ranks(1, [&](Ranks& group) {
    ThreadPool pool(threads, false);
    Model<float> model(config, pool);
    model.set_precision(precision);
    std::vector<float> initial(static_cast<std::size_t>(model.layout().total));
    for (const ParameterInfo& tensor : model.layout().tensors) {
      initialise(tensor, 0.1, 3, initial.data());
    }
    Trainer trainer(model, settings, group, pool, initial);
    for (int i = 0; i < steps; ++i) result.push_back(trainer.step(examples).loss);
  });
  return result;
}

// bf16 keeps 8 bits: a loss within 2% of float's all the way, and not the same numbers.
void expect_near_float(ModelType type, Precision precision) {
  const int steps = dtl::test::sanitized() ? 4 : 60;
  const std::vector<double> exact = losses(type, Precision::kFloat32, steps);
  const std::vector<double> mixed = losses(type, precision, steps);
  if (steps == 60) {
    EXPECT_LT(exact.back(), 0.8 * exact.front());
  }
  EXPECT_NE(exact, mixed);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(mixed[i], exact[i], 0.02 * exact[i]) << "step " << i + 1;
  }
}

TEST(MixedPrecisionTraining, FollowsFloatsLosses) {
  for (const ModelType type : kEveryType) expect_near_float(type, Precision::kBf16Emulated);
}

TEST(MixedPrecisionTraining, FollowsFloatsLossesByTheCpusInstructions) {
  if (!bf16_support().available) GTEST_SKIP() << bf16_support().reason;
  expect_near_float(ModelType::kBert, Precision::kBf16);
  expect_near_float(ModelType::kDistilBert, Precision::kBf16);
}

TEST(MixedPrecisionTraining, ComputesTheSameByInstructionsAsInEmulation) {
  if (!bf16_support().available) GTEST_SKIP() << bf16_support().reason;
  const std::vector<double> emulated = losses(ModelType::kBert, Precision::kBf16Emulated, 10);
  const std::vector<double> native = losses(ModelType::kBert, Precision::kBf16, 10);
  for (std::size_t i = 0; i < native.size(); ++i) {
    // Sums in another order move an operand across a rounding boundary now and then.
    EXPECT_NEAR(native[i], emulated[i], 2e-3 * emulated[i]) << "step " << i + 1;
  }
}

TEST(MixedPrecisionTraining, GivesTheSameBitsForAnyNumberOfThreads) {
  const Precision precision =
      bf16_support().available ? Precision::kBf16 : Precision::kBf16Emulated;
  EXPECT_EQ(losses(ModelType::kBert, precision, 8), losses(ModelType::kBert, precision, 8, 3));
}

}  // namespace
}  // namespace dtl::trainer::mixed_precision_test
