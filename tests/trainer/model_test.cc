#include "trainer/model/model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "tests/trainer/gradient_check.h"
#include "tests/trainer/model_support.h"
#include "trainer/maths/kernels.h"

namespace dtl::trainer::model_test {
namespace {

const auto kIgnoreProgress = [](std::int64_t) {};

void expect_gradients_right(const ModelConfig& config, bool with_dropout) {
  ThreadPool pool(1, false);
  Model<double> model(config, pool);
  const Batch batch = make_batch(random_examples(5, 9, config.vocab_size, 3, 11), first_indices(5));
  const DropoutKey key{7, 3};
  expect_gradients_right(model, batch, with_dropout ? &key : nullptr);
}

TEST(ModelGradients, AgreeWithFiniteDifferencesForBert) {
  expect_gradients_right(tiny_config(ModelType::kBert), false);
}

TEST(ModelGradients, AgreeWithFiniteDifferencesForBertWithDropout) {
  ModelConfig config = tiny_config(ModelType::kBert);
  config.hidden_dropout = 0.3;
  config.attention_dropout = 0.4;
  config.classifier_dropout = 0.2;
  expect_gradients_right(config, true);
}

TEST(ModelGradients, AgreeWithFiniteDifferencesForEveryFamilyWithDropout) {
  for (const ModelType type : kEveryType) expect_gradients_right(tiny_config(type), true);
}

TEST(ModelGradients, AgreeWithFiniteDifferencesForTanhGeluAndOneLayer) {
  ModelConfig config = tiny_config(ModelType::kDistilBert);
  config.layers = 1;
  config.activation = Activation::kGeluTanh;
  expect_gradients_right(config, false);
}

TEST(ModelGradients, AgreeWithFiniteDifferencesForThreeLayersOfRelu) {
  ModelConfig config = tiny_config(ModelType::kBert);
  config.layers = 3;
  config.activation = Activation::kRelu;
  expect_gradients_right(config, true);
}

// exp(2x) overflows in the tail of gelu_new.
template <class S>
void expect_right_tails(Activation kind) {
  constexpr std::int64_t kCount = 64;
  std::vector<S> u(kCount), bias(kCount), g(kCount), slope(kCount, S(1)), sums(kCount);
  for (int i = 0; i < kCount; ++i) {
    u[static_cast<std::size_t>(i)] = S((i % 2 == 0 ? 1 : -1) * (6 + 3 * i));
  }
  const std::vector<S> before = u;
  kernels<S>().activation(kind, 1, kCount, u.data(), bias.data(), g.data());
  std::vector<S> again(kCount);
  kernels<S>().activation_backward(kind, 1, kCount, u.data(), slope.data(), sums.data(),
                                   again.data());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto x = static_cast<double>(before[i]);
    EXPECT_NEAR(static_cast<double>(g[i]), std::max(x, 0.0), 1e-4) << x;
    EXPECT_NEAR(static_cast<double>(slope[i]), x > 0 ? 1 : 0, 1e-5) << x;
  }
}

TEST(Activations, AreFiniteForLargeInputs) {
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
    expect_right_tails<float>(kind);
    expect_right_tails<double>(kind);
  }
}

TEST(Model, GivesASequenceTheSameLogitsInAnyCompany) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  ThreadPool pool(1, false);
  Model<double> model(config, pool);
  const auto parameters = random_parameters<double>(model.layout(), 2);
  const Examples examples = random_examples(6, 12, config.vocab_size, 3, 4);
  const DropoutKey key{1, 2};
  const Batch all = make_batch(examples, first_indices(6));
  const double* logits = model.forward(parameters.data(), all, &key);
  const std::vector<double> together(logits, logits + 18);
  for (std::int64_t i = 0; i < 6; ++i) {
    const Batch alone = make_batch(examples, std::vector<std::int64_t>{i});
    logits = model.forward(parameters.data(), alone, &key);
    for (std::int64_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(logits[c], together[static_cast<std::size_t>(3 * i + c)], 1e-12);
    }
  }
}

void expect_same_bits_for_any_threads(ModelType type) {
  const ModelConfig config = tiny_config(type);
  const Examples examples = random_examples(90, 31, config.vocab_size, 3, 8);
  const Batch batch = make_batch(examples, first_indices(90));
  const DropoutKey key{1, 2};
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads, false);
    Model<float> model(config, pool);
    const auto parameters = random_parameters<float>(model.layout(), 2);
    std::vector<float> gradients(parameters.size());
    model.forward(parameters.data(), batch, &key);
    model.backward(parameters.data(), batch, 0.5F, gradients.data(), kIgnoreProgress);
    results.push_back(gradients);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Model, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const ModelType type : kEveryType) expect_same_bits_for_any_threads(type);
}

// For every head, for several layers, and with old values in the memory.
TEST(Model, GivesTheSameBitsWhereItKeepsNoLayers) {
  for (const ModelType type : kEveryType) {
    for (const Task task :
         {Task::kClassification, Task::kQuestionAnswering, Task::kTokenClassification}) {
      ModelConfig config = tiny_config(type);
      config.layers = 4;
      config.task = task;
      const Examples examples = random_examples_for(config, 90, 31, 8);
      const Batch batch = make_batch(examples, first_indices(90));
      ThreadPool pool(2, false);
      Model<float> model(config, pool);
      const auto parameters = random_parameters<float>(model.layout(), 2);
      const std::int64_t count = output_rows(config, batch) * output_count(config);
      const float* outputs = model.forward(parameters.data(), batch, nullptr);
      const std::vector<float> expected(outputs, outputs + count);
      model.forward_only(parameters.data(), make_batch(examples, first_indices(3)));
      outputs = model.forward_only(parameters.data(), batch);
      EXPECT_EQ(std::vector<float>(outputs, outputs + count), expected);
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
TEST(Model, NeedsTheMemoryOfOneLayerWhereItKeepsNone) {
#ifdef DTL_SANITIZED
  GTEST_SKIP() << "a sanitizer keeps memory that was given back";
#endif
  const auto memory = [](int layers, bool keep) {
    ModelConfig config = tiny_config(ModelType::kBert);
    config.layers = layers;
    config.intermediate_size = 1024;
    const Batch batch =
        make_batch(random_examples(90, 31, config.vocab_size, 3, 8), first_indices(90));
    ThreadPool pool(1, false);
    Model<float> model(config, pool);
    const auto parameters = random_parameters<float>(model.layout(), 2);
    const std::int64_t before = resident_bytes();
    if (keep) {
      model.forward(parameters.data(), batch, nullptr);
    } else {
      model.forward_only(parameters.data(), batch);
    }
    return resident_bytes() - before;
  };
  memory(2, false);                         // what is made once, by anybody
  constexpr std::int64_t kNoise = 4 << 20;  // of huge pages and of the allocator
  EXPECT_LE(std::abs(memory(12, false) - memory(2, false)), kNoise);
  EXPECT_GT(memory(12, true), 5 * memory(12, false));
}

// Where a layer reports that its gradients are complete; its norms come before its products in
// pre-norm layers, and behind them in others.
std::vector<std::int64_t> reports_of(const ModelConfig& config, const LayerOffsets& at) {
  if (!is_pre_norm(config)) return {at.down_weight, at.up_weight, at.out_weight, at.qkv_weight};
  std::vector<std::int64_t> offsets;
  if (at.final_weight >= 0) offsets.push_back(at.final_weight);
  for (const std::int64_t offset : {at.down_weight, at.up_weight, at.norm2_weight, at.out_weight}) {
    offsets.push_back(offset);
  }
  offsets.push_back(at.norm1_weight >= 0 ? at.norm1_weight : at.qkv_weight);
  return offsets;
}

void expect_gradients_complete_in_order(ModelType type) {
  const ModelConfig config = tiny_config(type);
  ThreadPool pool(1, false);
  Model<float> model(config, pool);
  const auto parameters = random_parameters<float>(model.layout(), 2);
  std::vector<float> gradients(parameters.size());
  const Batch batch = make_batch(random_examples(2, 5, 40, 3, 1), first_indices(2));
  std::vector<std::int64_t> offsets;
  std::vector<std::vector<float>> seen;  // from that offset on
  model.forward(parameters.data(), batch, nullptr);
  model.backward(parameters.data(), batch, 1.0F, gradients.data(), [&](std::int64_t offset) {
    offsets.push_back(offset);
    seen.emplace_back(gradients.begin() + offset, gradients.end());
  });
  const auto& layout = model.layout();
  std::vector<std::int64_t> expected{layout.blocks.back().begin};
  for (std::size_t i = layout.layers.size(); i-- > 0;) {
    for (const std::int64_t offset : reports_of(config, layout.layers[i])) {
      expected.push_back(offset);
    }
  }
  expected.push_back(0);
  EXPECT_EQ(offsets, expected);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::vector<float> last(gradients.begin() + offsets[i], gradients.end());
    EXPECT_EQ(seen[i], last) << offsets[i];
    if (offsets[i] == 0) continue;  // the padding token's row
    EXPECT_NE(last[0], 0.0F) << offsets[i];
  }
}

TEST(Model, CompletesGradientsFromTheHeadToTheEmbeddings) {
  for (const ModelType type : kEveryType) expect_gradients_complete_in_order(type);
}

TEST(Model, AcceptsAnEmptyBatch) {
  const ModelConfig config = tiny_config(ModelType::kBert);
  ThreadPool pool(2, false);
  Model<float> model(config, pool);
  const auto parameters = random_parameters<float>(model.layout(), 2);
  std::vector<float> gradients(parameters.size());
  const DropoutKey key{1, 2};
  model.forward(parameters.data(), Batch{}, &key);
  EXPECT_EQ(model.backward(parameters.data(), Batch{}, 1.0F, gradients.data(), kIgnoreProgress),
            0.0);
  EXPECT_EQ(gradients, std::vector<float>(parameters.size()));
}

TEST(Model, GivesThePaddingTokenNoGradient) {
  ModelConfig config = tiny_config(ModelType::kBert);
  config.pad_token_id = 3;
  ThreadPool pool(1, false);
  Model<float> model(config, pool);
  const auto parameters = random_parameters<float>(model.layout(), 2);
  std::vector<float> gradients(parameters.size());
  Batch batch = make_batch(random_examples(1, 8, 40, 3, 1), first_indices(1));
  std::fill(batch.ids.begin(), batch.ids.end(), 3);
  model.forward(parameters.data(), batch, nullptr);
  model.backward(parameters.data(), batch, 1.0F, gradients.data(), kIgnoreProgress);
  for (std::int64_t i = 0; i < 40 * 24; ++i) {
    ASSERT_EQ(gradients[static_cast<std::size_t>(model.layout().word + i)], 0.0F);
  }
}

// RoBERTa's positions begin after that of padding, which is counted nowhere in a text.
TEST(Model, GivesPaddingThePositionBeforeTheFirst) {
  ModelConfig config = tiny_config(ModelType::kRoberta);
  config.pad_token_id = 3;
  ThreadPool pool(1, false);
  Model<float> model(config, pool);
  const auto parameters = random_parameters<float>(model.layout(), 2);
  std::vector<float> gradients(parameters.size());
  Batch batch = make_batch(random_examples(1, 1, 40, 3, 1), first_indices(1), {5, 3});
  batch.ids = {7, 3, 8, 3, 9};
  batch.own_lengths = {5};
  model.forward(parameters.data(), batch, nullptr);
  model.backward(parameters.data(), batch, 1.0F, gradients.data(), kIgnoreProgress);
  std::vector<std::int64_t> used;
  for (std::int64_t row = 0; row < config.max_positions; ++row) {
    const auto begin = gradients.begin() + model.layout().position + row * config.hidden_size;
    const auto set = [](float value) { return value != 0; };
    if (std::any_of(begin, begin + config.hidden_size, set)) used.push_back(row);
  }
  EXPECT_EQ(used, (std::vector<std::int64_t>{4, 5, 6}));
}

}  // namespace
}  // namespace dtl::trainer::model_test
