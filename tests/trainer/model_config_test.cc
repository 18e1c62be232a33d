#include "trainer/families/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/fd.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/families/model_family.h"

namespace dtl::trainer::model_config_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ModelConfig read(const std::string& json) {
  const TemporaryFolder folder;
  folder.write("config.json", json);
  return read_model_config(folder.path());
}

std::string read_error(const std::string& json) {
  try {
    read(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("config.json"));
    return error.what();
  }
  ADD_FAILURE() << "accepted " << json;
  return "";
}

TEST(ModelConfig, ReadsBertWithItsDefaults) {
  const ModelConfig config = read(R"({"model_type": "bert", "hidden_size": 1024,
      "num_attention_heads": 16, "hidden_dropout_prob": 0.25, "hidden_act": "gelu_new",
      "classifier_dropout": null, "id2label": {"1": "yes", "0": "no"}})");
  EXPECT_EQ(config.type, ModelType::kBert);
  EXPECT_EQ(config.hidden_size, 1024);
  EXPECT_EQ(config.layers, 12);
  EXPECT_EQ(config.vocab_size, 30522);
  EXPECT_EQ(config.activation, Activation::kGeluTanh);
  EXPECT_DOUBLE_EQ(config.classifier_dropout, 0.25);
  EXPECT_THAT(config.labels, ElementsAre("no", "yes"));
}

TEST(ModelConfig, ReadsDistilBertWithItsDefaults) {
  const ModelConfig config = read(R"({"model_type": "distilbert", "dim": 48, "n_heads": 4})");
  EXPECT_EQ(config.type, ModelType::kDistilBert);
  EXPECT_EQ(config.hidden_size, 48);
  EXPECT_EQ(config.layers, 6);
  EXPECT_DOUBLE_EQ(config.classifier_dropout, 0.2);
  EXPECT_DOUBLE_EQ(config.layer_norm_eps, 1e-12);
  EXPECT_TRUE(config.labels.empty());
}

TEST(ModelConfig, ReadsRobertaWithItsDefaults) {
  const ModelConfig config = read(R"({"model_type": "roberta", "layer_norm_eps": 1e-05,
      "max_position_embeddings": 514, "type_vocab_size": 1, "bos_token_id": 0})");
  EXPECT_EQ(config.type, ModelType::kRoberta);
  EXPECT_EQ(config.vocab_size, 50265);
  EXPECT_EQ(config.pad_token_id, 1);
  EXPECT_DOUBLE_EQ(config.layer_norm_eps, 1e-5);
  EXPECT_EQ(longest_text(config), 512);
  EXPECT_EQ(read(R"({"model_type": "xlm-roberta"})").vocab_size, 30522);
  EXPECT_EQ(read(R"({"model_type": "camembert"})").pad_token_id, 1);
}

TEST(ModelConfig, ReadsElectraWithItsDefaults) {
  const ModelConfig config = read(R"({"model_type": "electra", "summary_last_dropout": 0.2})");
  EXPECT_EQ(config.type, ModelType::kElectra);
  EXPECT_EQ(config.embedding_size, 128);
  EXPECT_EQ(config.hidden_size, 256);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.intermediate_size, 1024);
  EXPECT_EQ(longest_text(config), 512);
  EXPECT_DOUBLE_EQ(config.summary_dropout, 0.2);
  EXPECT_THAT(read_error(R"({"model_type": "electra", "summary_type": "mean"})"),
              HasSubstr("'summary_type': \"mean\""));
}

TEST(ModelConfig, ReadsMPNetWithItsDefaults) {
  const ModelConfig config = read(R"({"model_type": "mpnet", "pad_token_id": 1,
      "max_position_embeddings": 514, "relative_attention_num_buckets": 32})");
  EXPECT_EQ(config.type, ModelType::kMPNet);
  EXPECT_EQ(config.vocab_size, 30527);
  EXPECT_EQ(config.type_vocab_size, 0);
  EXPECT_EQ(longest_text(config), 512);
  EXPECT_THAT(read_error(R"({"model_type": "mpnet", "relative_attention_num_buckets": 64})"),
              HasSubstr("MPNetModel computes with 32"));
  EXPECT_THAT(read_error(R"({"model_type": "mpnet", "pad_token_id": 0})"),
              HasSubstr("'pad_token_id': 0"));
}

TEST(ModelConfig, RefusesColumnsThatItCannotHaveWritten) {
  for (const char* columns : {"7", "{}", R"({"texts": []})", R"({"texts": "a"})",
                              R"({"texts": ["a", 1]})", R"({"texts": ["a"], "label": 1})"}) {
    EXPECT_THAT(
        read_error(std::string(R"({"model_type": "bert", "dttrain_columns": )") + columns + "}"),
        AnyOf(HasSubstr("'dttrain_columns'"), HasSubstr("'texts'"), HasSubstr("'label'")));
  }
}

TEST(ModelConfig, KeepsTheLossOfTheTraining) {
  const TemporaryFolder folder;
  ModelConfig config;
  config.labels = {"a", "b"};
  config.loss = {.focal_gamma = 2, .label_weights = {0.5, 3}, .softmax = true};
  write_model_config(folder.path(), config);
  EXPECT_EQ(read_model_config(folder.path()).loss, config.loss);
  config.loss = {.label_smoothing = 0.1};
  write_model_config(folder.path(), config);
  EXPECT_EQ(read_model_config(folder.path()).loss, config.loss);
}

TEST(ModelConfig, RefusesALossThatItCannotHaveWritten) {
  for (const char* loss : {R"({"label_weights": [1]})", R"({"label_weights": [1, 0]})",
                           R"({"label_weights": [1, "x"]})", R"({"label_weights": 1})"}) {
    EXPECT_THAT(read_error(std::string(R"({"model_type": "bert", "num_labels": 2, )") +
                           R"("dttrain_loss": )" + loss + "}"),
                HasSubstr("'label_weights'"));
  }
  EXPECT_THAT(read_error(R"({"model_type": "bert", "dttrain_loss": {"hinge": 1}})"),
              HasSubstr("'hinge'"));
}

TEST(ModelConfig, RefusesWhatCannotBeRun) {
  EXPECT_THAT(read_error(R"({"model_type": "albert"})"),
              HasSubstr("'albert' is not one of bert, distilbert, roberta"));
  EXPECT_THAT(read_error(R"({"model_type": "roberta", "max_position_embeddings": 2})"),
              HasSubstr("a text begins at position 2"));
  EXPECT_THAT(read_error(R"({"model_type": "roberta", "pad_token_id": 50265})"),
              HasSubstr("'pad_token_id': 50265 is not below vocab_size"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "position_embedding_type": "relative_key"})"),
              HasSubstr("relative_key"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "is_decoder": true})"), HasSubstr("decoder"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "hidden_act": "swish"})"), HasSubstr("swish"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "hidden_size": 10})"),
              HasSubstr("'num_attention_heads': the hidden size, 10"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "hidden_size": -4})"),
              HasSubstr("'hidden_size'"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "hidden_size": "x"})"),
              HasSubstr("'hidden_size'"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "hidden_dropout_prob": 2})"),
              HasSubstr("'hidden_dropout_prob'"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "id2label": {"0": "a", "2": "b"}})"),
              HasSubstr("id 1"));
  EXPECT_THAT(read_error("{"), HasSubstr("ends too early"));
  EXPECT_THAT(read_error("[]"), HasSubstr("not a JSON object"));
}

TEST(ModelConfig, RefusesSizesThatNoMemoryHolds) {
  EXPECT_THAT(read_error(R"({"model_type": "bert", "num_labels": 16777216})"),
              HasSubstr("'num_labels': 16777216 is not between 1 and 1048576"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "num_hidden_layers": 65536})"),
              HasSubstr("'num_hidden_layers'"));
  EXPECT_THAT(read_error(R"({"model_type": "distilbert", "n_layers": 65536})"),
              HasSubstr("'n_layers'"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "hidden_size": 16777216,
                             "num_attention_heads": 1, "num_hidden_layers": 4096})"),
              HasSubstr("the model would have"));
}

TEST(ModelConfig, RefusesDeepNesting) {
  const std::string nested = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(read_error(R"({"model_type": "bert", "x": )" + nested + "}"),
              HasSubstr("nest too deep"));
}

Problem problem_of(const std::string& rest) {
  return read(R"({"model_type": "bert", )" + rest + "}").problem;
}

TEST(ModelConfig, ReadsTheProblem) {
  EXPECT_EQ(problem_of(R"("problem_type": "regression")"), Problem::kRegression);
  EXPECT_EQ(problem_of(R"("problem_type": "multi_label_classification")"), Problem::kMultiLabel);
  EXPECT_EQ(problem_of(R"("problem_type": "single_label_classification", "num_labels": 1)"),
            Problem::kSingleLabel);
}

TEST(ModelConfig, TakesOneOutputForANumberUnlessToldOtherwise) {
  EXPECT_EQ(problem_of(R"("problem_type": null, "num_labels": 1)"), Problem::kRegression);
  EXPECT_EQ(problem_of(R"("num_labels": 2)"), Problem::kSingleLabel);
}

TEST(ModelConfig, RefusesAnUnknownProblemAndAModelWithoutLayers) {
  EXPECT_THAT(read_error(R"({"model_type": "bert", "problem_type": "guessing"})"),
              HasSubstr("'guessing'"));
  EXPECT_THAT(read_error(R"({"model_type": "bert", "num_hidden_layers": 0})"),
              HasSubstr("'num_hidden_layers'"));
  EXPECT_THAT(read_error(R"({"model_type": "distilbert", "n_layers": 0})"),
              HasSubstr("'n_layers'"));
}

std::string written(ModelType type, Task task, Problem problem) {
  const TemporaryFolder folder;
  ModelConfig config{.type = type, .labels = {"a", "b"}, .task = task, .problem = problem};
  write_model_config(folder.path(), config);
  return read_file(folder.file("config.json"), 1 << 16);
}

TEST(ModelConfig, NamesTheClassThatReadsTheModel) {
  for (const auto& [type, name] : {std::pair{ModelType::kBert, "\"Bert"},
                                   {ModelType::kDistilBert, "\"DistilBert"},
                                   {ModelType::kRoberta, "\"Roberta"},
                                   {ModelType::kXlmRoberta, "\"XLMRoberta"},
                                   {ModelType::kCamembert, "\"Camembert"},
                                   {ModelType::kElectra, "\"Electra"},
                                   {ModelType::kMPNet, "\"MPNet"}}) {
    EXPECT_THAT(written(type, Task::kClassification, Problem::kSingleLabel),
                HasSubstr(name + std::string("ForSequenceClassification\"")));
    EXPECT_THAT(written(type, Task::kQuestionAnswering, Problem::kSingleLabel),
                HasSubstr(name + std::string("ForQuestionAnswering\"")));
  }
}

TEST(ModelConfig, WritesLabelsForClassifiersOnly) {
  EXPECT_THAT(written(ModelType::kBert, Task::kClassification, Problem::kMultiLabel),
              AllOf(HasSubstr(R"("problem_type": "multi_label_classification")"),
                    HasSubstr("id2label"), HasSubstr("label2id")));
  EXPECT_THAT(written(ModelType::kBert, Task::kQuestionAnswering, Problem::kSingleLabel),
              Not(AnyOf(HasSubstr("problem_type"), HasSubstr("label"))));
}

TEST(ModelConfig, ReadsWhatItWrote) {
  for (const ModelType type :
       {ModelType::kBert, ModelType::kDistilBert, ModelType::kRoberta, ModelType::kXlmRoberta,
        ModelType::kCamembert, ModelType::kElectra, ModelType::kMPNet}) {
    const TemporaryFolder folder;
    ModelConfig config;
    config.type = type;
    config.pad_token_id = 1;
    config.hidden_size = 64;
    config.layers = 2;
    config.heads = 4;
    config.intermediate_size = 100;
    config.vocab_size = 321;
    config.max_positions = 77;
    config.activation = Activation::kRelu;
    config.classifier_dropout = 0.3;
    config.labels = {"a", "b \"c\"", "\u00e9"};
    config.problem = Problem::kMultiLabel;
    config.qa_dropout = 0.4;
    config.sinusoidal_positions = true;
    write_model_config(folder.path(), config);
    const ModelConfig again = read_model_config(folder.path());
    EXPECT_EQ(again.type, type);
    EXPECT_EQ(again.hidden_size, 64);
    EXPECT_EQ(again.layers, 2);
    EXPECT_EQ(again.heads, 4);
    EXPECT_EQ(again.intermediate_size, 100);
    EXPECT_EQ(again.vocab_size, 321);
    EXPECT_EQ(again.max_positions, 77);
    EXPECT_EQ(again.activation, Activation::kRelu);
    if (type != ModelType::kMPNet) {
      EXPECT_DOUBLE_EQ(again.classifier_dropout, 0.3);
    }
    EXPECT_EQ(again.labels, config.labels);
    EXPECT_EQ(again.problem, Problem::kMultiLabel);
    if (type != ModelType::kDistilBert) continue;
    EXPECT_DOUBLE_EQ(again.qa_dropout, 0.4);
    EXPECT_TRUE(again.sinusoidal_positions);
  }
}

}  // namespace
}  // namespace dtl::trainer::model_config_test
