// Training of token classification: a step's loss is the mean over its labelled tokens, however
// these are spread over ranks and micro-batches.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/model/loss.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer::token_training_test {
namespace {

ModelConfig tagging_config() {
  ModelConfig config = tiny_config(ModelType::kDistilBert, 5);
  config.task = Task::kTokenClassification;
  return config;
}

TrainSettings settings_for(int accumulation) {
  TrainSettings settings;
  settings.global_batch = 8;
  settings.accumulation = accumulation;
  settings.optimizer.learning_rate = 1e-3;
  settings.optimizer.total_steps = 100;
  return settings;
}

// Sentences whose numbers of labelled tokens differ widely: none, one, or all of up to 30.
Examples uneven_examples(const ModelConfig& config) {
  Examples examples = random_examples_for(config, 40, 30, 3);
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    for (std::int64_t t = examples.first_token(i); t < examples.first_token(i + 1); ++t) {
      const bool first = t == examples.first_token(i);
      examples.token_labels[static_cast<std::size_t>(t)] =
          i % 3 == 0 || (i % 3 == 1 && first)
              ? static_cast<std::int32_t>(examples.ids[static_cast<std::size_t>(t)] % 5)
              : kNoLabel;
    }
  }
  return examples;
}

struct Trained {
  std::vector<double> losses;
  TrainingState state;
};

// `steps` steps, from the start or on from `state`.
Trained train(const Examples& examples, int ranks, int steps, int accumulation = 1,
              const TrainingState* state = nullptr) {
  Trained run;
  run_ranks(ranks, [&](Ranks& group) {
    ThreadPool pool(1, false);
    Model<float> model(tagging_config(), pool);
    std::vector<float> initial(static_cast<std::size_t>(model.layout().total));
    for (const ParameterInfo& tensor : model.layout().tensors) {
      initialise(tensor, 0.1, 3, initial.data());
    }
    Trainer trainer = state != nullptr
                          ? Trainer(model, settings_for(accumulation), group, pool, *state)
                          : Trainer(model, settings_for(accumulation), group, pool, initial);
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(trainer.step(examples).loss);
    trainer.verify_parameters();
    if (group.rank() == 0) run = {losses, trainer.state()};
  });
  return run;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST(TokenTraining, GivesTheSameLossesOnAnyRanksAndMicroBatches) {
  const Examples examples = uneven_examples(tagging_config());
  const Trained one = train(examples, 1, 40);
  EXPECT_LT(one.losses.back(), 0.9 * one.losses.front());
  EXPECT_LT(largest_difference(one.losses, train(examples, 2, 40).losses), 2e-5);
  EXPECT_LT(largest_difference(one.losses, train(examples, 4, 40).losses), 2e-5);
  EXPECT_LT(largest_difference(one.losses, train(examples, 1, 40, 4).losses), 2e-5);
  EXPECT_LT(largest_difference(one.losses, train(examples, 2, 40, 3).losses), 2e-5);
}

TEST(TokenTraining, ResumesWithTheSameBits) {
  const Examples examples = uneven_examples(tagging_config());
  const Trained whole = train(examples, 2, 12);
  const Trained begun = train(examples, 2, 5);
  EXPECT_EQ(train(examples, 2, 7, 1, &begun.state).state.parameters, whole.state.parameters);
}

// Such as a file of one sentence whose words all lose their tokens.
TEST(TokenTraining, LearnsNothingFromAStepWithoutLabels) {
  Examples examples = uneven_examples(tagging_config());
  std::fill(examples.token_labels.begin(), examples.token_labels.end(), kNoLabel);
  for (const int ranks : {1, 2}) {
    const Trained none = train(examples, ranks, 2);
    EXPECT_EQ(none.losses, std::vector<double>(2, 0.0));
    EXPECT_EQ(none.state.parameters, train(examples, 1, 1).state.parameters);
  }
}

TEST(TokenTraining, CountsOneTermForEachLabelledToken) {
  Examples examples;
  examples.ids = {1, 2, 3, 4, 5};
  examples.types.assign(5, 0);
  examples.starts = {0, 2, 5};
  examples.token_labels = {kNoLabel, 0, 1, kNoLabel, 2};
  EXPECT_EQ(loss_terms(tagging_config(), {}, examples, std::vector<std::int64_t>{0, 1}), 3);
  EXPECT_EQ(loss_terms(tagging_config(), {}, examples, std::vector<std::int64_t>{0}), 1);
  EXPECT_EQ(make_batch(examples, std::vector<std::int64_t>{1, 0}, {.length = 4}).token_labels,
            (std::vector<std::int32_t>{1, kNoLabel, 2, kNoLabel, kNoLabel, 0, kNoLabel, kNoLabel}));
}

}  // namespace
}  // namespace dtl::trainer::token_training_test
