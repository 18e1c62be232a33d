#include "trainer/settings/embedding_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl::trainer::embedding_options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Settings parse(std::vector<std::string> extra) {
  extra.insert(extra.begin(), {"--task", "embeddings", "--model_name_or_path", "m", "--do_train",
                               "--train_file", "t.csv", "--output_dir", "out"});
  return parse_settings(extra);
}

std::string complaint(const std::vector<std::string>& extra) {
  try {
    parse(extra);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "";
}

TEST(EmbeddingOptions, AreRead) {
  const Settings s = parse({"--loss", "triplet", "--margin", "0.5", "--matryoshka_dims", "64,32",
                            "--matryoshka_weights", "1,0.25"});
  EXPECT_THAT(matryoshka_dims(s), ElementsAre(64, 32));
  EXPECT_THAT(matryoshka_weights(s), ElementsAre(1, 0.25));
  EXPECT_THAT(given_prompts(parse({"--prompts", R"({"query": "q: "})"})),
              ElementsAre(Pair("query", "q: ")));
  EXPECT_THAT(given_prompts(parse({"--prompts", "text: "})), ElementsAre(Pair("", "text: ")));
}

TEST(EmbeddingOptions, RefuseWhatTheLossDoesNotHave) {
  EXPECT_THAT(complaint({"--loss", "cosent", "--margin", "1"}), HasSubstr("--loss triplet"));
  EXPECT_THAT(complaint({"--loss", "triplet", "--loss_scale", "3"}), HasSubstr("no such setting"));
  EXPECT_THAT(complaint({"--loss", "cosent", "--symmetric_loss"}), HasSubstr("--symmetric_loss"));
  EXPECT_THAT(complaint({"--loss", "triplet_loss"}), HasSubstr("--loss"));
}

TEST(EmbeddingOptions, RefuseBadValues) {
  EXPECT_THAT(complaint({"--matryoshka_dims", "64,0"}), HasSubstr("'0'"));
  EXPECT_THAT(complaint({"--matryoshka_dims", "64,64"}), HasSubstr("'64'"));
  EXPECT_THAT(complaint({"--matryoshka_weights", "1"}), HasSubstr("needs --matryoshka_dims"));
  EXPECT_THAT(complaint({"--matryoshka_dims", "8,4", "--matryoshka_weights", "1"}),
              HasSubstr("1 weights for 2 dimensions. Try: --matryoshka_weights 1,1"));
  EXPECT_THAT(complaint({"--prompts", "{\"a\": 1}"}), HasSubstr("'a' is not a text"));
  EXPECT_THAT(complaint({"--prompts", "{"}), HasSubstr("not a JSON object"));
  EXPECT_THAT(complaint({"--corpus_file", "c.csv"}), HasSubstr("needs --do_eval"));
  EXPECT_THAT(complaint({"--label_smoothing_factor", "0.1"}), HasSubstr("only for classification"));
}

}  // namespace
}  // namespace dtl::trainer::embedding_options_test
