#include "trainer/embeddings/sentence_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::sentence_folder_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::UnorderedElementsAre;

constexpr const char* kPooled = R"([
  {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])";

class SentenceFolder : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    folder_.write(name, text);
  }
  EmbeddingConfig read(const std::string& pooling) {
    write("modules.json", kPooled);
    write("1_Pooling/config.json", pooling);
    return read_sentence_folder(folder_.path(), 32);
  }
  std::string complaint(const std::string& pooling) {
    try {
      read(pooling);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kBadInput);
      return error.what();
    }
    return "";
  }
  const TemporaryFolder folder_;
};

TEST_F(SentenceFolder, OfAnEncoderAloneMeansTheMean) {
  EXPECT_EQ(read_sentence_folder(folder_.path(), 32), EmbeddingConfig());
  EXPECT_THAT(read_dense_tensors(folder_.path()), IsEmpty());
}

TEST_F(SentenceFolder, HasThePoolingOfOldAndNewVersions) {
  EXPECT_EQ(read(R"({"embedding_dimension": 32, "pooling_mode": "cls"})").pooling,
            TextPooling::kCls);
  EXPECT_EQ(read(R"({"pooling_mode": ["lasttoken"]})").pooling, TextPooling::kLastToken);
  EXPECT_EQ(read(R"({"word_embedding_dimension": 32, "pooling_mode_cls_token": false,
                     "pooling_mode_max_tokens": true})")
                .pooling,
            TextPooling::kMax);
  EXPECT_EQ(read("{}").pooling, TextPooling::kMean);
}

TEST_F(SentenceFolder, RefusesWhatCannotBeRunNamingFileAndKey) {
  EXPECT_THAT(complaint(R"({"include_prompt": false})"),
              HasSubstr("1_Pooling/config.json:1:20: cannot use 'include_prompt'"));
  EXPECT_THAT(complaint(R"({"pooling_mode": ["cls", "mean"]})"), HasSubstr("'pooling_mode'"));
  EXPECT_THAT(complaint(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})"),
              HasSubstr("cannot use 'pooling_mode_mean_tokens'"));
  EXPECT_THAT(complaint(R"({"embedding_dimension": 16})"), HasSubstr("hidden size is 32"));
  EXPECT_THAT(complaint(R"({"attention": 1})"), HasSubstr("unknown key"));
}

TEST_F(SentenceFolder, RefusesOtherModules) {
  write("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
                            {"path": "1_LSTM", "type": "sentence_transformers.models.LSTM"}])");
  EXPECT_THROW(read_sentence_folder(folder_.path(), 32), Error);
  write("modules.json", R"([{"path": "", "type": "custom.Transformer"}])");
  EXPECT_THROW(read_sentence_folder(folder_.path(), 32), Error);
}

TEST_F(SentenceFolder, OfAnOldVersionHasTheEncoderBelow) {
  EXPECT_EQ(encoder_folder(folder_.path()), folder_.path());
  write("modules.json",
        R"([{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
            {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  write("1_Pooling/config.json", "{}");
  write("0_Transformer/sentence_roberta_config.json", R"({"max_seq_length": 9})");
  EXPECT_EQ(encoder_folder(folder_.path()), folder_.file("0_Transformer"));
  EXPECT_EQ(read_sentence_folder(folder_.path(), 32).max_length, 9);
}

TEST_F(SentenceFolder, IsReadAsItWasWritten) {
  EmbeddingConfig config{
      .pooling = TextPooling::kWeightedMean,
      .dense = {{3, true, DenseActivation::kGelu}, {2, false, DenseActivation::kIdentity}},
      .normalize = true,
      .prompts = {{"query", "query: "}, {"passage", ""}},
      .default_prompt = "query",
      .max_length = 17,
      .lower_case = true,
      .similarity = "dot"};
  const TensorMap dense = {{"dense.0.linear.weight", {{3, 4}, std::vector<float>(12, 0.5F)}},
                           {"dense.0.linear.bias", {{3}, {1, 2, 3}}},
                           {"dense.1.linear.weight", {{2, 3}, std::vector<float>(6, 2.0F)}}};
  write_sentence_folder(folder_.path(), config, 4, dense);
  EXPECT_EQ(read_sentence_folder(folder_.path(), 4), config);
  const TensorMap again = read_dense_tensors(folder_.path());
  EXPECT_THAT(again, UnorderedElementsAre(Key("dense.0.linear.weight"), Key("dense.0.linear.bias"),
                                          Key("dense.1.linear.weight")));
  EXPECT_EQ(again.at("dense.0.linear.bias").values, dense.at("dense.0.linear.bias").values);
}

}  // namespace
}  // namespace dtl::trainer::sentence_folder_test
