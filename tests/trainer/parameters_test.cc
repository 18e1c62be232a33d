#include "trainer/layers/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dtl::trainer::parameters_test {
namespace {

// The published sizes of Hugging Face's models; the default configuration is bert-base-uncased.
std::int64_t count(ModelConfig config, Task task) {
  config.task = task;
  config.labels = {"0", "1"};
  return parameter_count(layout_parameters(config));
}

TEST(Parameters, OfBertBaseAreAsManyAsPublished) {
  EXPECT_EQ(count({}, Task::kClassification), 109'483'778);
  EXPECT_EQ(count({}, Task::kQuestionAnswering), 108'893'186);
  EXPECT_EQ(count({.vocab_size = 28996}, Task::kClassification), 108'311'810);
}

TEST(Parameters, OfDistilBertBaseAreAsManyAsPublished) {
  const ModelConfig distilbert{.type = ModelType::kDistilBert, .layers = 6};
  EXPECT_EQ(count(distilbert, Task::kClassification), 66'955'010);
  EXPECT_EQ(count(distilbert, Task::kQuestionAnswering), 66'364'418);
}

TEST(Parameters, OfRobertaBaseAreAsManyAsPublished) {
  const ModelConfig roberta{
      .type = ModelType::kRoberta, .vocab_size = 50265, .max_positions = 514, .type_vocab_size = 1};
  EXPECT_EQ(count(roberta, Task::kClassification), 124'647'170);
  EXPECT_EQ(count(roberta, Task::kMaskedLm), 124'697'433);
}

TEST(Parameters, OfElectraSmallAreAsManyAsPublished) {
  const ModelConfig electra{.type = ModelType::kElectra,
                            .hidden_size = 256,
                            .embedding_size = 128,
                            .heads = 4,
                            .intermediate_size = 1024};
  EXPECT_EQ(count(electra, Task::kEmbeddings), 13'483'008);
  EXPECT_EQ(count(electra, Task::kMaskedLm), 13'546'682);
}

TEST(Parameters, OfMPNetBaseAreAsManyAsPublished) {
  const ModelConfig mpnet{.type = ModelType::kMPNet, .vocab_size = 30527, .max_positions = 514};
  EXPECT_EQ(count(mpnet, Task::kEmbeddings), 108'895'872);
  EXPECT_EQ(count(mpnet, Task::kClassification), 109'488'002);
}

TEST(Parameters, OfBertLargeAreAsManyAsPublished) {
  const ModelConfig large{
      .hidden_size = 1024, .layers = 24, .heads = 16, .intermediate_size = 4096};
  EXPECT_EQ(count(large, Task::kClassification), 335'143'938);
}

std::vector<std::string> head_names(ModelType type, Task task) {
  const ModelConfig config{.type = type, .layers = 1, .labels = {"0", "1"}, .task = task};
  std::vector<std::string> names;
  for (const ParameterInfo& tensor : layout_parameters(config).tensors) {
    if (tensor.head) names.push_back(tensor.name);
  }
  return names;
}

TEST(Parameters, OfTheTaskAreThoseThatAPretrainedEncoderLacks) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(head_names(ModelType::kBert, Task::kClassification),
            (Names{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(head_names(ModelType::kDistilBert, Task::kClassification),
            (Names{"pre_classifier.weight", "pre_classifier.bias", "classifier.weight",
                   "classifier.bias"}));
  for (const ModelType type : {ModelType::kBert, ModelType::kDistilBert}) {
    EXPECT_EQ(head_names(type, Task::kQuestionAnswering),
              (Names{"qa_outputs.weight", "qa_outputs.bias"}));
  }
}

TEST(Parameters, OfABertThatFindsAnswersHaveNoPooler) {
  const ModelConfig config{.task = Task::kQuestionAnswering};
  for (const ParameterInfo& tensor : layout_parameters(config).tensors) {
    EXPECT_EQ(tensor.name.find("pooler"), std::string::npos) << tensor.name;
  }
}

}  // namespace
}  // namespace dtl::trainer::parameters_test
