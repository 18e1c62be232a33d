// Training above frozen layers (--freeze_layers).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/step/optimizer_state.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer::freeze_test {
namespace {

constexpr std::uint64_t kStart = 4;  // of the random parameters

struct Training {
  std::vector<double> losses;
  TrainingState state;
  std::vector<float> gradients;  // of the last step
};

TrainSettings settings_for(int frozen, OptimizerKind kind = OptimizerKind::kAdamTorch) {
  TrainSettings settings;
  settings.global_batch = 12;
  settings.optimizer.kind = kind;
  settings.optimizer.learning_rate = 1e-3;
  settings.optimizer.weight_decay = 0.1;
  settings.optimizer.total_steps = 20;
  settings.optimizer.frozen_layers = frozen;
  return settings;
}

Examples examples_for(const ModelConfig& config) {
  return random_examples_for(config, 50, 20, 21);
}

Training train(const ModelConfig& config, const TrainSettings& settings, int steps, int ranks = 1) {
  const Examples examples = examples_for(config);
  Training run;
  run_ranks(ranks, [&](Ranks& group) {
    ThreadPool pool(2, false);
    Model<float> model(config, pool);
    Trainer trainer(model, settings, group, pool, random_parameters<float>(model.layout(), kStart));
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(trainer.step(examples).loss);
    trainer.verify_parameters();
    if (group.rank() == 0) run = {losses, trainer.state(), trainer.gradients()};
  });
  return run;
}

TEST(FrozenLayers, StayAsTheyAreInEveryFamily) {
  for (const ModelType type : kEveryType) {
    const ModelConfig config = tiny_config(type);
    const ParameterLayout layout = layout_parameters(config);
    const auto start = random_parameters<float>(layout, kStart);
    for (const int frozen : {1, config.layers}) {
      const std::int64_t begin = trained_begin(layout, frozen);
      const Training run = train(config, settings_for(frozen), 3);
      EXPECT_TRUE(std::equal(start.begin(), start.begin() + begin, run.state.parameters.begin()));
      EXPECT_FALSE(
          std::equal(start.begin() + begin, start.end(), run.state.parameters.begin() + begin));
      EXPECT_EQ(std::ssize(run.state.m), layout.total - begin);
      EXPECT_EQ(std::ssize(run.state.v), layout.total - begin);
    }
  }
}

TEST(FrozenLayers, LeaveTheOthersTheirGradients) {
  for (const ModelType type : kEveryType) {
    const ModelConfig config = tiny_config(type);
    const std::int64_t begin = trained_begin(layout_parameters(config), 1);
    const Training all = train(config, settings_for(0), 1);
    const Training frozen = train(config, settings_for(1), 1);
    EXPECT_EQ(all.losses, frozen.losses);
    EXPECT_TRUE(std::equal(all.gradients.begin() + begin, all.gradients.end(),
                           frozen.gradients.begin() + begin));
  }
}

TEST(FrozenLayers, GiveTheSameOnAnyNumberOfRanks) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  const Training one = train(config, settings_for(1), 10),
                 three = train(config, settings_for(1), 10, 3);
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(one.losses[i], three.losses[i], 1e-5);
  }
}

TEST(FrozenLayers, LetARunGoOnWithTheSameBits) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  const Examples examples = examples_for(config);
  for (const OptimizerKind kind : {OptimizerKind::kAdamTorch, OptimizerKind::kAdafactor}) {
    const TrainSettings settings = settings_for(1, kind);
    const Training whole = train(config, settings, 6);
    TrainingState state = train(config, settings, 3).state;
    run_ranks(1, [&](Ranks& group) {
      ThreadPool pool(1, false);
      Model<float> model(config, pool);
      Trainer trainer(model, settings, group, pool, state);
      for (int i = 0; i < 3; ++i) trainer.step(examples);
      EXPECT_EQ(trainer.parameters(), whole.state.parameters);
      EXPECT_EQ(trainer.state().v, whole.state.v);
    });
  }
}

TEST(FrozenLayers, CostFewerOperations) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  const std::vector<std::int64_t> chosen = {0, 1};
  const Batch batch = make_batch(examples_for(config), chosen, {});
  const double all = product_flops(config, batch);
  EXPECT_LT(product_flops(config, batch, 1), all);
  EXPECT_GT(product_flops(config, batch, 1), all / 3);
}

}  // namespace
}  // namespace dtl::trainer::freeze_test
