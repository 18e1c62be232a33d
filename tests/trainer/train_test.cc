#include "trainer/step/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/step/evaluate.h"
#include "trainer/step/sampler.h"

namespace dtl::trainer::train_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Training {
  std::vector<double> losses;
  std::vector<float> parameters;
  std::vector<float> logits;
};

TrainSettings settings_for(int accumulation) {
  TrainSettings settings;
  settings.global_batch = 12;
  settings.accumulation = accumulation;
  settings.optimizer.learning_rate = 1e-3;
  settings.optimizer.weight_decay = 0.01;
  settings.optimizer.total_steps = 100;
  settings.optimizer.warmup_steps = 5;
  return settings;
}

// `steps` steps over 50 examples on `ranks` ranks; dropout is on.
Training train(int ranks, int steps, int accumulation = 1, int threads = 1,
               dt_wire wire = DT_WIRE_DEFAULT, const LossSettings& loss = {},
               ModelType type = ModelType::kBert) {
  const ModelConfig config = tiny_config(type);
  const Examples examples = random_examples(50, 20, config.vocab_size, 3, 21);
  Training run;
  run_ranks(ranks, [&](Ranks& group) {
    ThreadPool pool(threads, false);
    Model<float> model(config, pool, loss);
    std::vector<float> initial(static_cast<std::size_t>(model.layout().total));
    for (const ParameterInfo& tensor : model.layout().tensors) {
      initialise(tensor, 0.1, 3, initial.data());
    }
    TrainSettings settings = settings_for(accumulation);
    settings.gradient_wire = wire;
    Trainer trainer(model, settings, group, pool, initial);
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(trainer.step(examples).loss);
    trainer.verify_parameters();
    const std::vector<float> logits = predict(model, trainer.parameters(), examples, 7, group);
    if (group.rank() == 0) run = {losses, trainer.parameters(), logits};
  });
  return run;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST(DataParallel, GivesTheSameLossCurveOnOneTwoAndFourRanks) {
  const Training one = train(1, 100);
  EXPECT_LT(one.losses.back(), 0.8 * one.losses.front());
  EXPECT_LT(largest_difference(one.losses, train(2, 100).losses), 1e-4);
  EXPECT_LT(largest_difference(one.losses, train(4, 100).losses), 1e-4);
}

TEST(DataParallel, GivesTheSameLossCurveOnAnyRanksForEveryFamily) {
  for (const ModelType type : kEveryType) {
    const auto losses = [&](int ranks) {
      return train(ranks, 20, 1, 1, DT_WIRE_DEFAULT, {}, type).losses;
    };
    EXPECT_LT(largest_difference(losses(1), losses(3)), 1e-5);
  }
}

TEST(DataParallel, GivesTheSameBitsEveryTimeAndForAnyNumberOfThreads) {
  const Training first = train(2, 20);
  EXPECT_EQ(first.parameters, train(2, 20).parameters);
  EXPECT_EQ(first.parameters, train(2, 20, 1, 3).parameters);
}

TEST(DataParallel, AccumulatesMicroBatchesIntoTheSameStep) {
  const Training whole = train(1, 30);
  EXPECT_LT(largest_difference(whole.losses, train(1, 30, 4).losses), 1e-5);
  EXPECT_LT(largest_difference(whole.losses, train(2, 30, 3).losses), 1e-5);
}

// The divisor is the sum of the weights of all ranks and micro-batches.
TEST(DataParallel, GivesTheSameLossCurveWithWeights) {
  for (const LossSettings& loss : {LossSettings{.label_weights = {0.2, 5, 1}},
                                   LossSettings{.focal_gamma = 2, .label_weights = {0.2, 5, 1}}}) {
    const Training one = train(1, 30, 1, 1, DT_WIRE_DEFAULT, loss);
    EXPECT_GT(largest_difference(one.losses, train(1, 30).losses), 1e-3);
    for (const auto& [ranks, accumulation] : {std::pair{2, 1}, {4, 1}, {1, 4}, {2, 3}}) {
      const Training other = train(ranks, 30, accumulation, 1, DT_WIRE_DEFAULT, loss);
      EXPECT_LT(largest_difference(one.losses, other.losses), 1e-5) << ranks << accumulation;
    }
  }
}

TEST(DataParallel, ReportsTheNormOfTheSummedGradient) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  const Examples examples = random_examples(50, 20, config.vocab_size, 3, 21);
  for (const int ranks : {1, 3}) {
    run_ranks(ranks, [&](Ranks& group) {
      ThreadPool pool(2, false);
      Model<float> model(config, pool);
      Trainer trainer(model, settings_for(1), group, pool,
                      random_parameters<float>(model.layout(), 1));
      for (int i = 0; i < 3; ++i) {
        const StepReport report = trainer.step(examples);
        double squares = 0;
        for (const float g : trainer.gradients()) {
          squares += static_cast<double>(g) * static_cast<double>(g);
        }
        EXPECT_NEAR(report.gradient_norm, std::sqrt(squares), 1e-12 * std::sqrt(squares));
        EXPECT_DOUBLE_EQ(report.learning_rate, 1e-3 * i / 5);
      }
    });
  }
}

TEST(StepWords, TellsWhatSeveralRanksUse) {
  const StepWords words({{1, 4, 7}, {}, {2, 4, 7, 9}, {2, 4, 11}});
  EXPECT_THAT(words.all, ElementsAre(1, 2, 4, 7, 9, 11));
  EXPECT_THAT(words.shared, ElementsAre(2, 4, 7));
  EXPECT_THAT(words.alone, ElementsAre(ElementsAre(1), IsEmpty(), ElementsAre(9), ElementsAre(11)));
}

// Words that ranks share travel as a sum, words of one are gathered. The norm knows both before
// the latter have come.
TEST(DataParallel, AddsUpTheWordsOfAllRanks) {
  const ParameterLayout layout = layout_parameters(tiny_config(ModelType::kBert));
  const std::int64_t hidden = layout.tensors.front().shape[1];
  const std::vector<std::vector<std::int32_t>> apart{{1, 4}, {}, {2, 3, 4, 9}};
  const std::vector<std::vector<std::int32_t>> mixed{{1, 4}, {1, 3, 4, 5}, {1, 2, 4, 5}};
  const std::vector<std::vector<std::int32_t>> alike{{1, 4}, {1, 4}, {1, 4}};
  for (const auto& of_rank : {apart, mixed, alike}) {
    const StepWords words(of_rank);
    std::map<std::int32_t, float> expected;
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      for (const std::int32_t word : of_rank[rank]) {
        expected[word] += static_cast<float>(100 * rank) + static_cast<float>(word);
      }
    }
    run_ranks(3, [&](Ranks& group) {
      ThreadPool pool(1, false);
      Buckets buckets(layout, group, pool, DT_WIRE_EXACT);
      std::vector<float> gradients(static_cast<std::size_t>(layout.total));
      for (const std::int32_t word : of_rank[static_cast<std::size_t>(group.rank())]) {
        std::fill_n(gradients.begin() + layout.word + word * hidden, hidden,
                    static_cast<float>(100 * group.rank()) + static_cast<float>(word));
      }
      buckets.begin(gradients.data());
      buckets.done(0);
      const Buckets::Totals totals = buckets.finish(words, 1.5);
      buckets.finish_words(words);
      EXPECT_EQ(totals.loss, 4.5);
      double squares = 0;
      for (std::int32_t word = 0; word < 12; ++word) {
        const float sum = expected.contains(word) ? expected.at(word) : 0.0F;
        for (std::int64_t i = 0; i < hidden; ++i) {
          ASSERT_EQ(gradients[static_cast<std::size_t>(layout.word + word * hidden + i)], sum);
        }
        squares +=
            static_cast<double>(hidden) * static_cast<double>(sum) * static_cast<double>(sum);
      }
      EXPECT_NEAR(totals.gradient_norm, std::sqrt(squares), 1e-9 * std::sqrt(squares));
    });
  }
}

TEST(DataParallel, SendsGradientsButNotLossesAsTheWireSays) {
  const Training exact = train(3, 8);
  const Training rounded = train(3, 8, 1, 1, DT_WIRE_BF16);
  EXPECT_EQ(exact.losses[0], rounded.losses[0]);
  EXPECT_NE(exact.parameters, rounded.parameters);
  EXPECT_LT(largest_difference(exact.losses, rounded.losses), 0.02);
}

TEST(DataParallel, PredictsTheSameOnAnyNumberOfRanks) {
  const Training one = train(1, 10), three = train(3, 10);
  ASSERT_EQ(one.logits.size(), three.logits.size());
  for (std::size_t i = 0; i < one.logits.size(); ++i) {
    EXPECT_NEAR(one.logits[i], three.logits[i], 1e-4);
  }
}

TEST(DataParallel, HasRanksWithoutExamplesTakePart) {
  EXPECT_EQ(train(16, 6).losses.size(), 6U);  // steps of 12, the last of an epoch of 2
}

TEST(DataParallel, FailsLoudlyWhenRanksDiffer) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  try {
    run_ranks(3, [&](Ranks& group) {
      ThreadPool pool(1, false);
      Model<float> model(config, pool);
      std::vector<float> initial(static_cast<std::size_t>(model.layout().total));
      if (group.rank() == 2) initial[5] = 1;
      Trainer trainer(model, settings_for(1), group, pool, initial);
      trainer.verify_parameters();
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 2: the parameters differ from rank 0's after the last step");
    EXPECT_EQ(error.status(), Exit::kInternal);
  }
}

TEST(DataParallel, NamesTheStepWhoseLossIsNotANumber) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  const Examples examples = random_examples(5, 9, config.vocab_size, 3, 1);
  try {
    run_ranks(2, [&](Ranks& group) {
      ThreadPool pool(1, false);
      Model<float> model(config, pool);
      auto parameters = random_parameters<float>(model.layout(), 1);
      std::fill(parameters.begin() + model.layout().class_bias,
                parameters.begin() + model.layout().class_bias + 3, 3e38F);
      parameters[static_cast<std::size_t>(model.layout().class_bias)] = -3e38F;
      Trainer trainer(model, settings_for(1), group, pool, parameters);
      for (int i = 0; i < 50; ++i) trainer.step(examples);
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.attempted(), "training step 1");
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_EQ(error.hint(), "--learning_rate 0.0001");
  }
}

TEST(Epoch, EndsWithAShorterStepOrDropsWhatFillsNoMicroBatch) {
  TrainSettings settings = settings_for(4);  // micro-batches of 3, steps of 12
  EXPECT_EQ(examples_per_epoch(50, settings), 50);
  EXPECT_EQ(steps_per_epoch(50, settings), 5);
  settings.drop_last = true;
  EXPECT_EQ(examples_per_epoch(50, settings), 48);
  EXPECT_EQ(steps_per_epoch(50, settings), 4);
  EXPECT_EQ(examples_per_epoch(53, settings), 51);
  EXPECT_EQ(steps_per_epoch(53, settings), 5);
  EXPECT_EQ(examples_per_epoch(3, settings), 3);
  try {
    examples_per_epoch(2, settings);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_NE(std::string(error.what()).find("2 examples do not fill one batch of 3"),
              std::string::npos);
  }
}

// Tokens tell which examples a step took: example i has i + 1 of them.
TEST(Epoch, TakesItsRandomOrderInGlobalBatches) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  Examples examples;
  examples.starts = {0};
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j <= i; ++j) examples.ids.push_back(1 + j);
    examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
    examples.labels.push_back(i % 3);
  }
  examples.types.resize(examples.ids.size());
  for (const bool drop_last : {false, true}) {
    ThreadPool pool(1, false);
    Ranks alone;
    Model<float> model(config, pool);
    TrainSettings settings = settings_for(2);
    settings.global_batch = 8;
    settings.drop_last = drop_last;
    Trainer trainer(model, settings, alone, pool, random_parameters<float>(model.layout(), 1));
    const std::size_t used = drop_last ? 8 : 10;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      const std::vector<std::int64_t> order = random_order(10, 42 + epoch);
      for (std::size_t begin = 0; begin < used; begin += 8) {
        std::int64_t tokens = 0;
        for (std::size_t i = begin; i < std::min(begin + 8, used); ++i) tokens += order[i] + 1;
        EXPECT_EQ(trainer.step(examples).tokens, tokens) << "epoch " << epoch;
      }
    }
  }
}

TEST(Sampler, ShufflesAsTorchRandperm) {
  // torch.randperm(10, generator=torch.Generator().manual_seed(42))
  EXPECT_EQ(random_order(10, 42), (std::vector<std::int64_t>{2, 6, 1, 8, 4, 5, 0, 9, 3, 7}));
}

TEST(Sampler, DealsEveryExampleOnceAndBalancesTokens) {
  const Examples examples = random_examples(40, 30, 40, 2, 3);
  const auto chosen = first_indices(40);
  const auto shares = deal(examples, chosen, 4);
  std::multiset<std::int64_t> dealt;
  std::vector<std::int64_t> tokens;
  for (const auto& share : shares) {
    dealt.insert(share.begin(), share.end());
    tokens.push_back(make_batch(examples, share).tokens());
  }
  EXPECT_EQ(dealt, std::multiset<std::int64_t>(chosen.begin(), chosen.end()));
  EXPECT_LE(*std::max_element(tokens.begin(), tokens.end()),
            *std::min_element(tokens.begin(), tokens.end()) + 30);
}

TEST(Sampler, NamesTheWordsOfAStepWithoutPadding) {
  Examples examples;
  examples.ids = {5, 0, 3, 5, 9};
  examples.types.resize(5);
  examples.starts = {0, 3, 5};
  examples.labels = {0, 0};
  EXPECT_EQ(words_of(examples, first_indices(2), 0), (std::vector<std::int32_t>{3, 5, 9}));
}

// 50 examples make 9 micro-batches of 6, of which the last step of a pass has one.
TEST(Epochs, AreCountedByMicroBatchesAsTransformersDoes) {
  TrainSettings settings = settings_for(2);
  EXPECT_DOUBLE_EQ(epoch_after(1, 50, settings), 2.0 / 9);
  EXPECT_DOUBLE_EQ(epoch_after(4, 50, settings), 8.0 / 9);
  EXPECT_DOUBLE_EQ(epoch_after(5, 50, settings), 1);
  EXPECT_DOUBLE_EQ(epoch_after(7, 50, settings), 1 + 4.0 / 9);
  EXPECT_DOUBLE_EQ(epoch_after(1, 50, settings_for(1)), 1.0 / 5);
  settings.drop_last = true;
  EXPECT_DOUBLE_EQ(epoch_after(1, 50, settings), 2.0 / 8);
  EXPECT_DOUBLE_EQ(epoch_after(1, 6, settings), 1);
}

TEST(Epochs, EndWithTheExamplesThatAreLeft) {
  const TrainSettings settings = settings_for(2);
  EXPECT_EQ(examples_after(4, 50, settings), 48);
  EXPECT_EQ(examples_after(5, 50, settings), 50);
  EXPECT_EQ(examples_after(11, 50, settings), 112);
}

}  // namespace
}  // namespace dtl::trainer::train_test
