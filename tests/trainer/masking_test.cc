#include "trainer/model/masking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/trainer/gradient_check.h"
#include "tests/trainer/model_support.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/step/evaluate.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer::masking_test {
namespace {

constexpr int kVocabulary = 40;
constexpr std::int32_t kMask = 4;

// Ids below 5 are special; odd ids continue a word.
MaskingRule rule_with(double probability, bool whole_words = false) {
  MaskingRule rule{probability, whole_words, kMask, {}};
  for (int id = 0; id < kVocabulary; ++id) {
    rule.kinds.push_back(id < 5        ? TokenKind::kSpecial
                         : id % 2 == 1 ? TokenKind::kContinues
                                       : TokenKind::kBegins);
  }
  return rule;
}

Examples texts(int count, const MaskingRule& rule) {
  Examples examples = random_examples(count, 20, kVocabulary, 3, 21);
  examples.labels.clear();
  examples.masking = rule;
  return examples;
}

std::vector<std::int64_t> first(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Batch masked(const Examples& examples, const std::vector<std::int64_t>& chosen,
             const DropoutKey& key) {
  Batch batch = make_batch(examples, chosen);
  mask_tokens(key, examples.masking, batch);
  return batch;
}

TEST(Masking, ShowsTheMaskAnotherTokenOrTheTokenItself) {
  const Examples examples = texts(4000, rule_with(0.15));
  const Batch plain = make_batch(examples, first(4000));
  const Batch batch = masked(examples, first(4000), {7, 3});
  const double ordinary = static_cast<double>(
      std::count_if(plain.ids.begin(), plain.ids.end(), [](std::int32_t id) { return id >= 5; }));
  const auto count = static_cast<double>(batch.masked.size());
  EXPECT_NEAR(count / ordinary, 0.15, 0.01);
  double hidden = 0, kept = 0;
  for (std::size_t i = 0; i < batch.masked.size(); ++i) {
    const auto at = static_cast<std::size_t>(batch.masked[i]);
    EXPECT_EQ(batch.originals[i], plain.ids[at]);
    EXPECT_GE(batch.originals[i], 5) << "special tokens stay";
    hidden += batch.ids[at] == kMask ? 1 : 0;
    kept += batch.ids[at] == plain.ids[at] ? 1 : 0;
  }
  // One of 40 random tokens is the mask, and one is the token itself.
  EXPECT_NEAR(hidden / count, 0.8 + 0.1 / kVocabulary, 0.02);
  EXPECT_NEAR(kept / count, 0.1 + 0.1 / kVocabulary, 0.02);
  EXPECT_TRUE(std::is_sorted(batch.masked.begin(), batch.masked.end()));
}

TEST(Masking, ChangesNoOtherToken) {
  const Examples examples = texts(50, rule_with(0.3));
  const Batch plain = make_batch(examples, first(50)), batch = masked(examples, first(50), {7, 3});
  for (std::size_t i = 0; i < plain.ids.size(); ++i) {
    const bool chosen =
        std::binary_search(batch.masked.begin(), batch.masked.end(), static_cast<std::int64_t>(i));
    if (!chosen) {
      EXPECT_EQ(batch.ids[i], plain.ids[i]);
    }
  }
}

TEST(Masking, DependsOnTheTextAndTheStepAlone) {
  const Examples examples = texts(50, rule_with(0.3));
  const Batch alone = masked(examples, {17}, {7, 3});
  const Batch among = masked(examples, {3, 17, 20}, {7, 3});
  const std::int64_t begin = among.starts[1], end = among.starts[2];
  EXPECT_EQ(alone.ids,
            std::vector<std::int32_t>(among.ids.begin() + begin, among.ids.begin() + end));
  EXPECT_NE(masked(examples, first(50), {7, 4}).masked, masked(examples, first(50), {7, 3}).masked);
  EXPECT_NE(masked(examples, first(50), {8, 3}).masked, masked(examples, first(50), {7, 3}).masked);
}

TEST(Masking, IsCountedWithoutABatch) {
  for (const bool whole : {false, true}) {
    const Examples examples = texts(50, rule_with(0.3, whole));
    EXPECT_EQ(count_masked({7, 3}, examples, first(50)),
              std::ssize(masked(examples, first(50), {7, 3}).masked));
  }
}

TEST(Masking, TakesWholeWordsOrNone) {
  const Examples examples = texts(300, rule_with(0.3, true));
  const Batch plain = make_batch(examples, first(300));
  const Batch batch = masked(examples, first(300), {7, 3});
  EXPECT_GT(batch.masked.size(), 300U);
  const auto is_masked = [&](std::int64_t at) {
    return std::binary_search(batch.masked.begin(), batch.masked.end(), at);
  };
  for (std::int64_t s = 0; s < plain.sequences(); ++s) {
    const std::int64_t begin = plain.starts[static_cast<std::size_t>(s)];
    for (std::int64_t at = begin + 1; at < begin + plain.length(s); ++at) {
      const std::int32_t id = plain.ids[static_cast<std::size_t>(at)];
      const std::int32_t before = plain.ids[static_cast<std::size_t>(at - 1)];
      const bool continues = id >= 5 && id % 2 == 1 && before >= 5;
      if (continues) {
        EXPECT_EQ(is_masked(at), is_masked(at - 1));
      }
    }
  }
}

ModelConfig masked_config(ModelType type) {
  ModelConfig config = tiny_config(type);
  config.task = Task::kMaskedLm;
  config.labels.clear();
  return config;
}

TEST(MaskedHead, HasGradientsThatFollowTheLoss) {
  for (const ModelType type : kEveryType) {
    const ModelConfig config = masked_config(type);
    const Examples examples = texts(5, rule_with(0.5));
    const Batch batch = masked(examples, first(5), {7, 3});
    ASSERT_GT(batch.masked.size(), 5U);
    ThreadPool pool(2, false);
    Model<double> model(config, pool);
    const DropoutKey key{1, 2};
    expect_gradients_right(model, batch, nullptr);
    expect_gradients_right(model, batch, &key);
  }
}

TEST(MaskedHead, GivesEachMaskedTokensLoss) {
  const ModelConfig config = masked_config(ModelType::kBert);
  const Examples examples = texts(11, rule_with(0.4));
  const auto parameters = random_parameters<float>(layout_parameters(config), 6);
  run_ranks(3, [&](Ranks& group) {
    ThreadPool pool(1, false);
    Model<float> model(config, pool);
    const std::vector<float> all = predict(model, parameters, examples, 2, group);
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < all.size(); i += 2) {
      sum += static_cast<double>(all[i]);
      count += all[i + 1] > 0 ? 1 : 0;
    }
    const Batch batch = masked(examples, first(11), {});
    EXPECT_EQ(count, static_cast<double>(batch.masked.size()));
    std::vector<float> gradients(parameters.size());
    model.forward(parameters.data(), batch, nullptr);
    EXPECT_NEAR(model.backward(parameters.data(), batch, 1, gradients.data(), [](std::int64_t) {}),
                sum, 1e-4);
  });
}

std::vector<double> losses_of(int ranks, int accumulation) {
  const ModelConfig config = masked_config(ModelType::kBert);
  const Examples examples = texts(50, rule_with(0.3));
  std::vector<double> losses;
  run_ranks(ranks, [&](Ranks& group) {
    ThreadPool pool(1, false);
    Model<float> model(config, pool);
    std::vector<float> initial(static_cast<std::size_t>(model.layout().total));
    for (const ParameterInfo& tensor : model.layout().tensors) {
      initialise(tensor, 0.1, 3, initial.data());
    }
    TrainSettings settings;
    settings.global_batch = 12;
    settings.accumulation = accumulation;
    settings.optimizer.learning_rate = 5e-3;
    settings.optimizer.total_steps = 60;
    Trainer trainer(model, settings, group, pool, initial);
    std::vector<double> own;
    for (int i = 0; i < 40; ++i) own.push_back(trainer.step(examples).loss);
    trainer.verify_parameters();
    if (group.rank() == 0) losses = own;
  });
  return losses;
}

TEST(MaskedTraining, LearnsTheSameOnAnyNumberOfRanksAndMicroBatches) {
  const std::vector<double> one = losses_of(1, 1);
  EXPECT_LT(one.back(), one.front());
  for (const auto& [ranks, accumulation] : {std::pair(2, 1), {4, 1}, {1, 3}, {2, 2}}) {
    const std::vector<double> other = losses_of(ranks, accumulation);
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(other[i], one[i], 1e-4) << ranks << " ranks, step " << i;
    }
  }
}

}  // namespace
}  // namespace dtl::trainer::masking_test
