#include "trainer/step/joint_loss.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <fstream>

#include "tests/support/sanitized.h"
#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer::joint_loss_test {
namespace {

ModelConfig embedder() {
  ModelConfig config = tiny_config(ModelType::kBert, 0);
  config.task = Task::kEmbeddings;
  config.embedding.dense = {{.outputs = 10}};
  config.embedding.normalize = true;
  return config;
}

Examples examples_of(const ModelConfig& config, EmbeddingLoss kind) {
  Examples examples = random_examples(90, 20, config.vocab_size, 2, 21);
  examples.labels.clear();
  const bool scored = kind == EmbeddingLoss::kCosine || kind == EmbeddingLoss::kCosent;
  examples.texts = scored ? 2 : 3;
  for (int i = 0; scored && i < 45; ++i) {
    examples.targets.push_back(static_cast<float>(i % 6) / 5);
  }
  return examples;
}

struct Training {
  std::vector<double> losses;
  std::vector<float> first_gradients;
  std::vector<float> parameters;
};

struct World {
  int ranks = 1, accumulation = 1, threads = 1;
};

// Dropout is on. 45 examples in steps of 16: the last of an epoch has 13.
Training train(const World& world, int steps, const EmbeddingLossSettings& loss = {}) {
  const ModelConfig config = embedder();
  const Examples examples = examples_of(config, loss.kind);
  Training run;
  run_ranks(world.ranks, [&](Ranks& group) {
    ThreadPool pool(world.threads, false);
    Model<float> model(config, pool, {.embedding = loss});
    std::vector<float> initial(static_cast<std::size_t>(model.layout().total));
    for (const ParameterInfo& tensor : model.layout().tensors) {
      initialise(tensor, 0.2, 3, initial.data());
    }
    TrainSettings settings;
    settings.global_batch = 16;
    settings.accumulation = world.accumulation;
    settings.optimizer.learning_rate = 1e-3;
    settings.optimizer.total_steps = 100;
    Trainer trainer(model, settings, group, pool, initial);
    Training mine;
    for (int i = 0; i < steps; ++i) {
      mine.losses.push_back(trainer.step(examples).loss);
      if (i == 0) mine.first_gradients = trainer.gradients();
    }
    trainer.verify_parameters();
    mine.parameters = trainer.parameters();
    if (group.rank() == 0) run = mine;
  });
  return run;
}

// L2 of the difference over L2.
double distance(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto x = static_cast<double>(found[i]), y = static_cast<double>(expected[i]);
    difference += (x - y) * (x - y);
    length += y * y;
  }
  return std::sqrt(difference / length);
}

std::vector<EmbeddingLossSettings> every_loss() {
  return {{},
          {.symmetric = true, .dimensions = {10, 4}},
          {.kind = EmbeddingLoss::kCosine},
          {.kind = EmbeddingLoss::kCosent},
          {.kind = EmbeddingLoss::kTriplet, .margin = 0.5}};
}

TEST(JointLoss, IsTheSameForAnyNumberOfRanksAndMicroBatches) {
  for (const EmbeddingLossSettings& loss : every_loss()) {
    const Training one = train({}, 4, loss);
    for (const World& world :
         {World{2, 1}, World{4, 1}, World{1, 2}, World{1, 8}, World{2, 2}, World{4, 8}}) {
      const Training other = train(world, 4, loss);
      for (std::size_t i = 0; i < one.losses.size(); ++i) {
        EXPECT_NEAR(other.losses[i], one.losses[i], 1e-5 * one.losses[i])
            << describe(loss) << ", " << world.ranks << " ranks, " << world.accumulation
            << " micro-batches, step " << i;
      }
      EXPECT_LT(distance(other.first_gradients, one.first_gradients), 1e-5)
          << describe(loss) << ", " << world.ranks << " ranks, " << world.accumulation
          << " micro-batches";
    }
  }
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// Measured by the process's pages; activations take whole MiB here.
TEST(JointLoss, NeedsTheMemoryOfOneMicroBatch) {
  if (dtl::test::sanitized()) GTEST_SKIP() << "a sanitizer keeps memory that was given back";
  const auto memory = [](int examples, int micro_batches) {
    ModelConfig config = embedder();
    config.layers = 6;
    config.intermediate_size = 1024;
    Examples data = random_examples(2 * examples, 20, config.vocab_size, 2, 8);
    data.labels.clear();
    data.texts = 2;
    ThreadPool pool(1, false);
    Ranks alone;
    Model<float> model(config, pool);
    TrainSettings settings;
    settings.global_batch = examples;
    settings.accumulation = micro_batches;
    settings.optimizer.total_steps = 1;
    Trainer trainer(model, settings, alone, pool, random_parameters<float>(model.layout(), 2));
    const std::int64_t before = resident_bytes();
    trainer.step(data);
    return resident_bytes() - before;
  };
  memory(16, 1);                            // what is made once, by anybody
  constexpr std::int64_t kNoise = 4 << 20;  // of huge pages and of the allocator
  const std::int64_t one = memory(32, 1);
  EXPECT_LE(memory(32 * 4, 4), one + one / 4 + kNoise);
  EXPECT_GT(memory(32 * 4, 1), 2 * one);
}

TEST(JointLoss, FallsInTraining) {
  const Training run = train({2, 2}, 60);
  EXPECT_LT(run.losses.back(), 0.7 * run.losses.front());
}

TEST(JointLoss, GivesTheSameBitsEveryTimeAndForAnyNumberOfThreads) {
  const Training first = train({2, 2, 1}, 6);
  EXPECT_EQ(first.parameters, train({2, 2, 1}, 6).parameters);
  EXPECT_EQ(first.parameters, train({2, 2, 3}, 6).parameters);
}

TEST(JointLoss, HasRanksWithoutExamplesTakePart) {
  const Training one = train({}, 3), many = train({20}, 3);
  EXPECT_NEAR(many.losses[2], one.losses[2], 1e-5 * one.losses[2]);
}

}  // namespace
}  // namespace dtl::trainer::joint_loss_test
