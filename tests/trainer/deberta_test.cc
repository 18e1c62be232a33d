// DeBERTa-v2: its config.json, its layout and its attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/fd.h"
#include "tests/trainer/gradient_check.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/families/model_family.h"
#include "trainer/layers/distance_rows.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer::deberta_test {
namespace {

using testing::HasSubstr;

// Two buckets for each side, so that a text of a few tokens has distances beyond them.
ModelConfig tiny_deberta() {
  ModelConfig config = tiny_config(ModelType::kDebertaV2);
  config.deberta.buckets = 6;
  config.deberta.pooler_dropout = 0.2;
  config.hidden_dropout = 0.2;
  config.attention_dropout = 0.3;
  return config;
}

void expect_gradients_right(const ModelConfig& config, const DropoutKey* dropout) {
  ThreadPool pool(1, false);
  Model<double> model(config, pool);
  const Batch batch = make_batch(random_examples_for(config, 5, 12, 11), first_indices(5));
  dtl::trainer::expect_gradients_right(model, batch, dropout);
}

TEST(DebertaGradients, AgreeWithFiniteDifferences) {
  expect_gradients_right(tiny_deberta(), nullptr);
}

TEST(DebertaGradients, AgreeWithFiniteDifferencesWithDropout) {
  const DropoutKey key{7, 3};
  expect_gradients_right(tiny_deberta(), &key);
}

TEST(DebertaGradients, AgreeWithFiniteDifferencesForAllTokensAndOwnProjections) {
  ModelConfig config = tiny_deberta();
  config.task = Task::kTokenClassification;
  config.deberta.shares_weights = false;
  config.deberta.table_norm = false;
  const DropoutKey key{7, 3};
  expect_gradients_right(config, &key);
}

TEST(DebertaGradients, AgreeWithFiniteDifferencesForOneTermAndAbsolutePositions) {
  ModelConfig config = tiny_deberta();
  config.type_vocab_size = 2;
  config.deberta.position_table = true;
  config.deberta.buckets = -1;
  config.deberta.content_to_position = false;
  expect_gradients_right(config, nullptr);
  config.deberta.content_to_position = true;
  config.deberta.position_to_content = false;
  expect_gradients_right(config, nullptr);
}

std::vector<float> gradients_with(const ModelConfig& config, int threads) {
  const Batch batch = make_batch(random_examples_for(config, 60, 31, 8), first_indices(60));
  ThreadPool pool(threads, false);
  Model<float> model(config, pool);
  const DropoutKey key{1, 2};
  return run_model(model, random_parameters<float>(model.layout(), 2), batch, &key).gradients;
}

TEST(Deberta, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const Task task : {Task::kClassification, Task::kTokenClassification}) {
    ModelConfig config = tiny_deberta();
    config.task = task;
    const std::vector<float> alone = gradients_with(config, 1);
    EXPECT_EQ(gradients_with(config, 2), alone);
    EXPECT_EQ(gradients_with(config, 3), alone);
  }
}

// The table's rows and their dropout do not depend on the longest text of a batch.
TEST(Deberta, GivesASequenceTheSameLogitsInAnyCompany) {
  const ModelConfig config = tiny_deberta();
  ThreadPool pool(1, false);
  Model<double> model(config, pool);
  const auto parameters = random_parameters<double>(model.layout(), 2);
  const Examples examples = random_examples(6, 30, config.vocab_size, 3, 4);
  const DropoutKey key{1, 2};
  const double* logits =
      model.forward(parameters.data(), make_batch(examples, first_indices(6)), &key);
  const std::vector<double> together(logits, logits + 18);
  for (std::int64_t i = 0; i < 6; ++i) {
    const Batch alone = make_batch(examples, std::vector<std::int64_t>{i});
    logits = model.forward(parameters.data(), alone, &key);
    for (std::int64_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(logits[c], together[static_cast<std::size_t>(3 * i + c)], 1e-12);
    }
  }
}

struct Trained {
  std::vector<double> losses;
  TrainingState state;
};

// `steps` steps with dropout, from the start or on from `from`.
Trained train(int ranks, int steps, int threads = 1, const TrainingState* from = nullptr) {
  const ModelConfig config = tiny_deberta();
  const Examples examples = random_examples(40, 31, config.vocab_size, 3, 5);
  TrainSettings settings;
  settings.global_batch = 8;
  settings.optimizer.learning_rate = 1e-3;
  settings.optimizer.total_steps = 20;
  Trained run;
  run_ranks(ranks, [&](Ranks& group) {
    ThreadPool pool(threads, false);
    Model<float> model(config, pool);
    Trainer trainer = from != nullptr ? Trainer(model, settings, group, pool, *from)
                                      : Trainer(model, settings, group, pool,
                                                random_parameters<float>(model.layout(), 2));
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(trainer.step(examples).loss);
    trainer.verify_parameters();
    if (group.rank() == 0) run = {losses, trainer.state()};
  });
  return run;
}

TEST(DebertaTraining, HasTheSameLossesOnAnyNumberOfRanks) {
  const std::vector<double> alone = train(1, 12).losses;
  const std::vector<double> three = train(3, 12).losses;
  EXPECT_EQ(train(1, 12, 3).losses, alone);
  ASSERT_EQ(three.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(three[i], alone[i], 2e-5) << i;
}

TEST(DebertaTraining, ResumesWithTheSameBits) {
  const Trained all = train(2, 12), half = train(2, 5);
  const Trained rest = train(2, 7, 1, &half.state);
  EXPECT_EQ(rest.losses, std::vector<double>(all.losses.begin() + 5, all.losses.end()));
  EXPECT_EQ(rest.state.parameters, all.state.parameters);
}

TEST(Deberta, AcceptsAnEmptyBatch) {
  const ModelConfig config = tiny_deberta();
  ThreadPool pool(2, false);
  Model<float> model(config, pool);
  const auto parameters = random_parameters<float>(model.layout(), 2);
  const DropoutKey key{1, 2};
  const Result<float> result = run_model(model, parameters, Batch{}, &key);
  EXPECT_EQ(result.gradients, std::vector<float>(parameters.size()));
}

TEST(Deberta, KeepsDistancesApartUpToHalfOfTheBuckets) {
  ModelConfig config;
  config.max_positions = 512;
  config.deberta = {.buckets = 256};
  EXPECT_EQ(distance_row(config, 0), 256);
  EXPECT_EQ(distance_row(config, 128), 384);
  EXPECT_EQ(distance_row(config, -128), 128);
  EXPECT_EQ(distance_row(config, 511), 511);
  EXPECT_EQ(distance_row(config, -511), 1);
  const DistanceRows rows = distance_rows(config, 300);
  EXPECT_EQ(rows.of_query(0)[0], rows.of_query(299)[299]);
  EXPECT_EQ(rows.highest - rows.of_query(17)[5], distance_row(config, 12));
  EXPECT_EQ(rows.count, distance_row(config, 299) - distance_row(config, -299) + 1);
}

std::int64_t parameters_of(ModelConfig config, Task task) {
  config.type = ModelType::kDebertaV2;
  config.vocab_size = 128100;
  config.task = task;
  config.labels = {"0", "1"};
  family_of(config).make_new(config);
  return parameter_count(layout_parameters(config));
}

TEST(Deberta, HasAsManyParametersAsPublished) {
  const ModelConfig base, xsmall{.hidden_size = 384, .heads = 6, .intermediate_size = 1536};
  EXPECT_EQ(parameters_of(base, Task::kClassification), 184'423'682);
  EXPECT_EQ(parameters_of(base, Task::kQuestionAnswering), 183'833'090);
  EXPECT_EQ(parameters_of(xsmall, Task::kClassification), 70'830'722);
}

ModelConfig read(const std::string& keys) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "deberta-v2", )" + keys + "}");
  return read_model_config(folder.path());
}

TEST(DebertaConfig, IsThatOfDebertaV3) {
  const ModelConfig config = read(R"("attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
      "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
      "intermediate_size": 3072, "max_position_embeddings": 512, "relative_attention": true,
      "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": true,
      "pos_att_type": "p2c|c2p", "layer_norm_eps": 1e-7, "max_relative_positions": -1,
      "position_biased_input": false, "num_attention_heads": 12, "num_hidden_layers": 12,
      "type_vocab_size": 0, "vocab_size": 128100, "attention_head_size": 64, "pooler_dropout": 0,
      "pooler_hidden_act": "gelu", "pooler_hidden_size": 768, "legacy": true, "conv_act": "gelu",
      "summary_type": "first", "padding_idx": 0)");
  ModelConfig expected;
  family_of(ModelType::kDebertaV2).make_new(expected);
  EXPECT_EQ(config.deberta, expected.deberta);
  EXPECT_EQ(config.type_vocab_size, 0);
  EXPECT_DOUBLE_EQ(config.layer_norm_eps, 1e-7);
  EXPECT_EQ(read(R"("pos_att_type": ["c2p", "p2c"])").deberta.position_to_content, true);
  EXPECT_DOUBLE_EQ(read(R"("cls_dropout": 0.4)").classifier_dropout, 0.4);
}

TEST(DebertaConfig, IsReadAsItWasWritten) {
  ModelConfig config = tiny_deberta();
  config.classifier_dropout = 0.4;
  config.deberta.max_distance = 20;
  config.deberta.position_to_content = false;
  config.deberta.legacy_masked_head = false;
  config.deberta.pooler_activation = HeadActivation::kTanh;
  const TemporaryFolder folder;
  write_model_config(folder.path(), config);
  const ModelConfig again = read_model_config(folder.path());
  EXPECT_EQ(again.deberta, config.deberta);
  EXPECT_DOUBLE_EQ(again.classifier_dropout, 0.4);
  EXPECT_EQ(again.type_vocab_size, 0);
}

void expect_refusal(const std::string& keys, const std::string& part) {
  try {
    read(keys);
    ADD_FAILURE() << "accepted " << keys;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(DebertaConfig, RefusesWhatCannotBeRun) {
  expect_refusal(R"("conv_kernel_size": 3)", "convolution");
  expect_refusal(R"("z_steps": 2)", "'z_steps'");
  expect_refusal(R"("embedding_size": 128)", "'embedding_size'");
  expect_refusal(R"("attention_head_size": 32)", "'attention_head_size'");
  expect_refusal(R"("pooler_hidden_size": 8)", "'pooler_hidden_size'");
  expect_refusal(R"("pooler_hidden_act": "swish")", "'pooler_hidden_act'");
  expect_refusal(R"("pos_att_type": "p2c|p2p")", "'p2p'");
  expect_refusal(R"("pos_att_type": [1])", "'pos_att_type'");
  expect_refusal(R"("norm_rel_ebd": "batch_norm")", "'batch_norm'");
  expect_refusal(R"("position_buckets": 1)", "'position_buckets'");
  expect_refusal(R"("position_buckets": 256, "max_relative_positions": 100)", "130 or more");
  expect_refusal(R"("max_relative_positions": 16777217)", "'max_relative_positions'");
  expect_refusal(R"("talking_head": true)", "'talking_head'");
}

}  // namespace
}  // namespace dtl::trainer::deberta_test
