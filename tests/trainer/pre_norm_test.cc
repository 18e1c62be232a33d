// Encoders with pre-norm layers, rotary positions and local attention: gradients, and the sums over
// a window beside those over all tokens with a mask.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trainer/gradient_check.h"
#include "tests/trainer/model_support.h"
#include "trainer/families/model_family.h"
#include "trainer/layers/row_norm.h"
#include "trainer/layers/window_attention.h"

namespace dtl::trainer::pre_norm_test {
namespace {

ModelConfig tiny(int layers = 3) {
  ModelConfig config = tiny_config(ModelType::kModernBert);
  config.layers = layers;
  config.pre_norm.local_attention = 4;
  config.pre_norm.global_every = 2;
  config.hidden_dropout = config.attention_dropout = config.classifier_dropout = 0;
  return config;
}

void expect_gradients_right(const ModelConfig& config, bool with_dropout) {
  ThreadPool pool(1, false);
  Model<double> model(config, pool);
  const Batch batch = make_batch(random_examples_for(config, 5, 9, 11), first_indices(5));
  const DropoutKey key{7, 3};
  expect_gradients_right(model, batch, with_dropout ? &key : nullptr);
}

TEST(PreNormGradients, AgreeWithFiniteDifferences) {
  expect_gradients_right(tiny(), false);
}

TEST(PreNormGradients, AgreeWithFiniteDifferencesWithDropoutAndBiases) {
  ModelConfig config = tiny();
  config.hidden_dropout = 0.2;
  config.attention_dropout = 0.3;
  config.classifier_dropout = 0.1;
  PreNormConfig& own = config.pre_norm;
  own.feed_forward_dropout = 0.4;
  own.attention_bias = own.feed_forward_bias = own.norm_bias = own.head_bias = true;
  expect_gradients_right(config, true);
}

TEST(PreNormGradients, AgreeWithFiniteDifferencesForMeansOfTokens) {
  ModelConfig config = tiny(1);
  config.classifier_pooling = TextPooling::kMean;
  config.pre_norm.head_activation = Activation::kRelu;
  expect_gradients_right(config, false);
}

TEST(PreNormGradients, AgreeWithFiniteDifferencesForTokens) {
  ModelConfig config = tiny(2);
  config.task = Task::kTokenClassification;
  config.activation = Activation::kGeluTanh;
  expect_gradients_right(config, false);
}

TEST(PreNorm, GivesTheSameBitsForAnyNumberOfThreads) {
  ModelConfig config = tiny(4);
  config.attention_dropout = config.pre_norm.feed_forward_dropout = 0.1;
  config.max_positions = 300;
  config.pre_norm.local_attention = 40;
  const Examples examples = random_examples(12, 290, config.vocab_size, 3, 8);
  const Batch batch = make_batch(examples, first_indices(12));
  const DropoutKey key{1, 2};
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads, false);
    Model<float> model(config, pool);
    const auto parameters = random_parameters<float>(model.layout(), 2);
    results.push_back(run_model(model, parameters, batch, &key).gradients);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(PreNorm, GivesTheSameBitsWhereItKeepsNoLayers) {
  for (const Task task : {Task::kClassification, Task::kTokenClassification}) {
    ModelConfig config = tiny(4);
    config.task = task;
    const Batch batch = make_batch(random_examples_for(config, 40, 31, 8), first_indices(40));
    ThreadPool pool(2, false);
    Model<float> model(config, pool);
    const auto parameters = random_parameters<float>(model.layout(), 2);
    const std::int64_t count = output_rows(config, batch) * output_count(config);
    const float* outputs = model.forward(parameters.data(), batch, nullptr);
    const std::vector<float> expected(outputs, outputs + count);
    outputs = model.forward_only(parameters.data(), batch);
    EXPECT_EQ(std::vector<float>(outputs, outputs + count), expected);
  }
}

// A batch of one text, with q, k and v at random, and what attention makes of them.
class WindowAttention : public testing::Test {
 protected:
  static constexpr std::int64_t kLength = 150, kPadding = 90, kHidden = 8, kHeads = 2;

  WindowAttention() {
    config_.hidden_size = kHidden;
    config_.heads = kHeads;
    batch_.starts = {0, kLength + kPadding};
    batch_.own_lengths = {kLength};
    batch_.numbers = {0};
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0.0, 1.0);
    for (auto* values : {&qkv_, &dcontext_}) {
      values->resize(static_cast<std::size_t>(rows() * 3 * kHidden));
      for (double& value : *values) value = normal(random);
    }
  }
  static constexpr std::int64_t rows() { return kLength + kPadding; }

  struct Result {
    std::vector<double> context, gradients;  // [rows, H], [rows, 3H]
  };

  LayerState<double> state_with(std::vector<double>& context) {
    LayerState<double> state;
    state.rows = rows();
    state.starts = batch_.starts;
    state.q = qkv_.data();
    state.k = state.q + kHidden;
    state.v = state.q + 2 * kHidden;
    state.q_stride = state.kv_stride = 3 * kHidden;
    context.assign(static_cast<std::size_t>(rows() * kHidden), 7.0);
    state.context = context.data();
    return state;
  }

  Result by_window(std::int64_t window) {
    ThreadPool pool(2, false);
    Arena arena;
    const Pass pass{config_, batch_, nullptr, pool, arena};
    Result result;
    const LayerState<double> state = state_with(result.context);
    window_attention_forward(pass, window, state);
    result.gradients.assign(qkv_.size(), 7.0);
    double* d = result.gradients.data();
    window_attention_backward<double>(pass, window, state, dcontext_.data(),
                                      {d, 3 * kHidden, d + kHidden, d + 2 * kHidden, 3 * kHidden});
    return result;
  }

  // All pairs of tokens, with those outside the window left out, by the definition.
  Result by_definition(std::int64_t window) const {
    Result result{std::vector<double>(static_cast<std::size_t>(rows() * kHidden)),
                  std::vector<double>(qkv_.size())};
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (std::int64_t query = 0; query < rows(); ++query) add_query(head, query, window, result);
    }
    return result;
  }

 private:
  static constexpr std::int64_t kWidth = kHidden / kHeads;

  // part: 0 for queries, 1 for keys, 2 for values.
  static std::size_t place(std::int64_t row, std::int64_t part, std::int64_t head, std::int64_t i) {
    return static_cast<std::size_t>(row * 3 * kHidden + part * kHidden + head * kWidth + i);
  }

  void add_query(std::int64_t head, std::int64_t query, std::int64_t window, Result& result) const {
    const auto at = [&](std::int64_t i) {
      return static_cast<std::size_t>(query * kHidden + head * kWidth + i);
    };
    const double factor = 1 / std::sqrt(static_cast<double>(kWidth));
    std::vector<std::int64_t> keys;
    std::vector<double> weights, slopes;
    double sum = 0, mean = 0;
    for (std::int64_t key = 0; key < kLength; ++key) {
      if (std::abs(key - query) > window) continue;
      double score = 0, slope = 0;
      for (std::int64_t i = 0; i < kWidth; ++i) {
        score += qkv_[place(query, 0, head, i)] * qkv_[place(key, 1, head, i)];
        slope += dcontext_[at(i)] * qkv_[place(key, 2, head, i)];
      }
      keys.push_back(key);
      weights.push_back(std::exp(score * factor));
      slopes.push_back(slope);
      sum += weights.back();
    }
    for (std::size_t k = 0; k < keys.size(); ++k) {
      weights[k] /= sum;
      mean += weights[k] * slopes[k];
    }
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const double d = factor * weights[k] * (slopes[k] - mean);
      for (std::int64_t i = 0; i < kWidth; ++i) {
        result.context[at(i)] += weights[k] * qkv_[place(keys[k], 2, head, i)];
        result.gradients[place(keys[k], 2, head, i)] += weights[k] * dcontext_[at(i)];
        result.gradients[place(query, 0, head, i)] += d * qkv_[place(keys[k], 1, head, i)];
        result.gradients[place(keys[k], 1, head, i)] += d * qkv_[place(query, 0, head, i)];
      }
    }
  }

  ModelConfig config_;
  Batch batch_;
  std::vector<double> qkv_, dcontext_;
};

double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  double gap = 0;
  for (std::size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
  return gap;
}

// Blocks have 64 or 128 queries. The last tokens of padding see no key within the smaller windows.
TEST_F(WindowAttention, IsAttentionToAllTokensWithAMask) {
  for (const std::int64_t window : {0L, 1L, 17L, 64L, 149L, 239L, static_cast<long>(kWholeText)}) {
    const Result found = by_window(window), expected = by_definition(window);
    EXPECT_LT(largest_gap(found.context, expected.context), 1e-12) << window;
    EXPECT_LT(largest_gap(found.gradients, expected.gradients), 1e-11) << window;
  }
}

TEST(WindowPairs, CountsTheScoresOfAText) {
  EXPECT_EQ(window_pairs(5, 5, kWholeText), 25);
  EXPECT_EQ(window_pairs(5, 5, 1), 2 + 3 + 3 + 3 + 2);
  EXPECT_EQ(window_pairs(5, 3, 1), 2 + 3 + 2 + 1 + 0);
}

std::int64_t parameters_of(Task task) {
  ModelConfig config{
      .type = ModelType::kModernBert, .vocab_size = 50368, .layers = 22, .intermediate_size = 1152};
  family_of(config).make_new(config);
  config.task = task;
  config.labels = {"0", "1"};
  return parameter_count(layout_parameters(config));
}

// answerdotai/ModernBERT-base as transformers counts it.
TEST(Parameters, OfModernBertBaseAreAsManyAsPublished) {
  EXPECT_EQ(parameters_of(Task::kMaskedLm), 149'655'232);
  EXPECT_EQ(parameters_of(Task::kClassification), 149'606'402);
}

// The trainer sends and clears everything from there on; rows of words go by themselves.
TEST(Parameters, OfPreNormEncodersFollowTheWordsDirectly) {
  const ParameterLayout layout = layout_parameters(tiny());
  EXPECT_EQ(layout.word, 0);
  EXPECT_EQ(layout.after_words, layout.embedding_norm_weight);
}

}  // namespace
}  // namespace dtl::trainer::pre_norm_test
