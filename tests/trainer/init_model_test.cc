#include "trainer/init/init_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/fd.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/data/demo_text.h"

namespace dtl::trainer::init_model_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTexts = "label\tsentence\nb\tone two two\na\tone two three one\n";

std::vector<std::string> arguments(const TemporaryFolder& folder, const std::string& output) {
  return {"--train_file",
          folder.write("train.tsv", kTexts),
          "--vocab_size",
          "64",
          "--hidden_size",
          "16",
          "--num_hidden_layers=1",
          "--num_attention_heads",
          "2",
          "--intermediate_size",
          "24",
          "--max_seq_length",
          "12",
          "--output_dir",
          folder.file(output)};
}

std::string init_error(const TemporaryFolder& folder, std::vector<std::string> more) {
  std::vector<std::string> all = arguments(folder, "out");
  all.insert(all.end(), more.begin(), more.end());
  try {
    run_init(all);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(InitModel, WritesAFolderThatLoads) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_init(arguments(folder, "a/b")), 0);
  const ModelConfig config = read_model_config(folder.file("a/b"));
  EXPECT_THAT(config.labels, ElementsAre("a", "b"));
  EXPECT_EQ(config.hidden_size, 16);
  EXPECT_EQ(config.layers, 1);
  EXPECT_EQ(config.max_positions, 12);
  const Tokenizer tokenizer = Tokenizer::load(folder.file("a/b"));
  EXPECT_EQ(tokenizer.vocabulary_size(), config.vocab_size);
  const TensorMap tensors = read_safetensors(folder.file("a/b/model.safetensors"));
  EXPECT_THAT(tensors.at("classifier.weight").shape, ElementsAre(2, 16));
  EXPECT_THAT(tensors.at("bert.embeddings.word_embeddings.weight").shape,
              ElementsAre(config.vocab_size, 16));
}

TEST(InitModel, WritesTheSameModelForTheSameSeedAndAnotherForAnother) {
  const TemporaryFolder folder;
  std::vector<std::string> other = arguments(folder, "c");
  other.insert(other.end(), {"--seed", "7"});
  run_init(arguments(folder, "a"));
  run_init(arguments(folder, "b"));
  run_init(other);
  const auto weights = [&](const std::string& name) {
    return read_file(folder.file(name + "/model.safetensors"), 1 << 20);
  };
  EXPECT_EQ(weights("a"), weights("b"));
  EXPECT_NE(weights("a"), weights("c"));
}

TEST(InitModel, SuggestsTheNearestOption) {
  const TemporaryFolder folder;
  EXPECT_THAT(init_error(folder, {"--hiden_size", "8"}), HasSubstr("--hiden_size"));
  EXPECT_THAT(init_error(folder, {"--hiden_size", "8"}), HasSubstr("Try: --hidden_size"));
}

TEST(InitModel, RefusesSizesThatDoNotFit) {
  const TemporaryFolder folder;
  EXPECT_THAT(init_error(folder, {"--seed", "x"}), HasSubstr("--seed"));
  EXPECT_THAT(init_error(folder, {"--model_type", "gpt2"}), HasSubstr("gpt2"));
  EXPECT_THAT(init_error(folder, {"--dropout", "1.5"}), HasSubstr("--dropout"));
}

TEST(InitModel, SaysWhichOptionIsMissing) {
  try {
    run_init({"--train_file", "x.tsv"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--output_dir"));
  }
}

TEST(InitModel, MakesADemonstrationModelInMemory) {
  ModelConfig config;
  config.hidden_size = 64;
  config.layers = 1;
  config.heads = 2;
  config.vocab_size = 300;
  const NewModel model = make_model(make_demo_text(1, 500), config, true, 42);
  EXPECT_THAT(model.config.labels, ElementsAre("faulty", "healthy"));
  const Tensor& words = model.weights.at("bert.embeddings.word_embeddings.weight");
  EXPECT_TRUE(std::all_of(words.values.begin(), words.values.begin() + 64,
                          [](float value) { return value == 0; }));
  EXPECT_NE(words.values[64], 0);
}

TEST(InitModel, RefusesAWidthThatTheHeadsDoNotDivide) {
  ModelConfig config;
  config.heads = 5;
  EXPECT_THROW(make_model(make_demo_text(1, 50), config, true, 42), Error);
}

}  // namespace
}  // namespace dtl::trainer::init_model_test
