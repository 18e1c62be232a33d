#include "trainer/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/trainer/model_support.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/data/demo_text.h"
#include "trainer/job/demo.h"

namespace dtl::trainer::checkpoint_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TensorMap tensors_of(const ParameterLayout& layout, const std::vector<float>& values) {
  TensorMap tensors;
  for (const ParameterInfo& info : layout.tensors) {
    const auto begin = values.begin() + info.offset;
    tensors[info.name] = {info.shape, std::vector<float>(begin, begin + info.count)};
  }
  return tensors;
}

struct Stored {
  ModelConfig config = tiny_config(ModelType::kBert);
  ParameterLayout layout = layout_parameters(config);
  std::vector<float> values = random_parameters<float>(layout, 3);
  TensorMap tensors = tensors_of(layout, values);

  LoadedParameters arrange(bool ignore_sizes = false) const {
    return arrange_parameters(tensors, "file", config, layout, {1, ignore_sizes});
  }
  std::string complaint() const {
    try {
      arrange();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  void rename(const std::string& from, const std::string& to) {
    tensors[to] = tensors.at(from);
    tensors.erase(from);
  }
};

TEST(Checkpoint, PutsEveryTensorInItsPlace) {
  const Stored model;
  const LoadedParameters loaded = model.arrange();
  EXPECT_EQ(loaded.values, model.values);
  EXPECT_TRUE(loaded.fresh.empty());
  EXPECT_TRUE(loaded.unused.empty());
}

// The output layer has the word embeddings' weights; old files hold them twice.
TEST(Checkpoint, RefusesAMaskedModelWithAnOutputLayerOfItsOwn) {
  Stored model;
  model.config.task = Task::kMaskedLm;
  model.layout = layout_parameters(model.config);
  model.values = random_parameters<float>(model.layout, 3);
  model.tensors = tensors_of(model.layout, model.values);
  Tensor& copy = model.tensors["cls.predictions.decoder.weight"];
  copy = model.tensors.at("bert.embeddings.word_embeddings.weight");
  model.tensors["cls.predictions.decoder.bias"] = model.tensors.at("cls.predictions.bias");
  EXPECT_TRUE(model.arrange().unused.empty());
  copy.values.back() += 1;
  EXPECT_THAT(model.complaint(),
              HasSubstr("file: tensor cls.predictions.decoder.weight: the output "
                        "layer has weights of its own"));
}

TEST(Checkpoint, NamesTheTensorThatIsNoNumber) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    Stored model;
    model.tensors.at("bert.encoder.layer.1.output.dense.bias").values.at(2) = bad;
    EXPECT_THAT(model.complaint(),
                AllOf(HasSubstr("file: tensor bert.encoder.layer.1.output.dense.bias: 1 of its "),
                      HasSubstr("from place 2 on"), HasSubstr("Try: ")));
  }
}

TEST(Checkpoint, NamesTheTypeOfATensorOfWholeNumbers) {
  for (const char* name : {"bert.encoder.layer.1.output.dense.bias", "classifier.weight"}) {
    Stored model;
    Tensor& tensor = model.tensors.at(name);
    tensor.values.clear();
    tensor.whole_type = "I32";
    EXPECT_THAT(model.complaint(),
                AllOf(HasSubstr(name), HasSubstr("whole, of type I32"), HasSubstr("Try: ")));
  }
  Stored model;
  model.tensors["counter"] = {{1}, {}, "I64"};
  EXPECT_TRUE(model.arrange().unused.empty());
}

TEST(Checkpoint, AcceptsABareEncoderAndInitialisesTheHead) {
  Stored model;
  TensorMap bare;
  for (const auto& [name, tensor] : model.tensors) {
    if (name.starts_with("bert.")) bare[name.substr(5)] = tensor;
  }
  model.tensors = bare;
  const LoadedParameters loaded = model.arrange();
  EXPECT_THAT(loaded.fresh, ElementsAre("classifier.weight", "classifier.bias"));
  EXPECT_TRUE(std::equal(loaded.values.begin(), loaded.values.begin() + model.layout.class_weight,
                         model.values.begin()));
  EXPECT_NE(loaded.values[static_cast<std::size_t>(model.layout.class_weight)], 0.0F);
  EXPECT_EQ(loaded.values[static_cast<std::size_t>(model.layout.class_bias)], 0.0F);
}

TEST(Checkpoint, AcceptsTheOldNamesOfLayerNorm) {
  Stored model;
  model.rename("bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma");
  model.rename("bert.embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.beta");
  EXPECT_EQ(model.arrange().values, model.values);
}

TEST(Checkpoint, NamesWhatItDoesNotUse) {
  Stored model;
  model.tensors["cls.predictions.bias"] = {{1}, {0.0F}};
  EXPECT_THAT(model.arrange().unused, ElementsAre("cls.predictions.bias"));
}

TEST(Checkpoint, LeavesPositionIdsOut) {
  Stored model;
  model.tensors["bert.embeddings.position_ids"] = {{1, 2}, {0, 1}};
  model.tensors["embeddings.position_ids"] = {{1, 2}, {0, 1}};
  EXPECT_TRUE(model.arrange().unused.empty());
}

// A classifier's own "pooler.dense" (DeBERTa) is another tensor than that of a bare BERT.
TEST(Checkpoint, KeepsThePoolerOfAnEncoderForEmbeddings) {
  Stored model;
  model.config.task = Task::kEmbeddings;
  model.layout = layout_parameters(model.config);
  model.values = random_parameters<float>(model.layout, 3);
  model.tensors = tensors_of(model.layout, model.values);
  const Tensor pooler{{1}, {0.5F}};
  model.tensors["bert.pooler.dense.weight"] = pooler;
  EXPECT_EQ(model.arrange().kept.count("pooler.dense.weight"), 1U);
  model.rename("bert.pooler.dense.weight", "pooler.dense.weight");
  EXPECT_TRUE(model.arrange().kept.empty());
  EXPECT_EQ(model.arrange().unused, std::vector<std::string>{"pooler.dense.weight"});
  TensorMap bare;
  for (const auto& [name, tensor] : model.tensors) {
    bare[name.starts_with("bert.") ? name.substr(5) : name] = tensor;
  }
  model.tensors = bare;
  EXPECT_EQ(model.arrange().kept.count("pooler.dense.weight"), 1U);
}

TEST(Checkpoint, RefusesTwoTensorsForOnePlace) {
  Stored model;
  model.tensors["bert.embeddings.LayerNorm.beta"] = model.tensors["bert.embeddings.LayerNorm.bias"];
  EXPECT_EQ(model.complaint(),
            "file: tensor bert.embeddings.LayerNorm.bias: it occurs twice, once "
            "under an older name");
}

TEST(Checkpoint, SaysWhichFilesItLooksFor) {
  const Stored model;
  const TemporaryFolder folder;
  try {
    load_parameters(folder.path(), model.config, model.layout, {});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("neither model.safetensors nor pytorch_model.bin"));
  }
}

TEST(Checkpoint, IsReadAsItWasSaved) {
  const Stored model;
  const TemporaryFolder folder;
  save_model(folder.path(), model.config, model.layout, model.values);
  EXPECT_EQ(load_parameters(folder.path(), model.config, model.layout, {}).values, model.values);
}

TEST(Checkpoint, RefusesAnEncoderWithATensorMissing) {
  Stored model;
  model.tensors.erase("bert.encoder.layer.1.output.dense.weight");
  EXPECT_EQ(model.complaint(),
            "file: tensor bert.encoder.layer.1.output.dense.weight: it is missing");
}

TEST(Checkpoint, RefusesAnotherShapeUnlessItIsTheHeadsAndAllowed) {
  Stored model;
  model.tensors["classifier.bias"] = {{2}, {1.0F, 1.0F}};
  EXPECT_THAT(model.complaint(),
              HasSubstr("its shape is [2], but the labels of this task need [3]"));
  EXPECT_THAT(model.arrange(true).fresh, ElementsAre("classifier.bias"));
  model.tensors["bert.embeddings.position_embeddings.weight"] = {{1, 24}, std::vector<float>(24)};
  EXPECT_THROW(model.arrange(true), Error);
}

TEST(Demonstration, CannotBeSolvedByCountingWords) {
  EXPECT_NEAR(bag_of_words_accuracy(make_demo_text(1, 4000), make_demo_text(2, 1000)), 0.5, 0.07);
}

}  // namespace
}  // namespace dtl::trainer::checkpoint_test
