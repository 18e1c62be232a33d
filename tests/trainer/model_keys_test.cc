// Every key of every JSON file of a model folder is used, known to have no effect, or refused by
// name: the tests put unknown keys and values into each object of each file.

#include "trainer/files/model_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/families/model_config.h"
#include "trainer/files/tensor_files.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer::model_keys_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

// Where a key can be put into each file: behind the first brace, or the one behind the words given.
const std::vector<std::pair<std::string, std::string>> kObjects = {
    {"config.json", ""},
    {"tokenizer_config.json", ""},
    {"tokenizer_config.json", "\"7\": "},
    {"special_tokens_map.json", ""},
    {"special_tokens_map.json", "\"sep_token\": "},
    {"tokenizer.json", ""},
    {"tokenizer.json", "\"truncation\": "},
    {"tokenizer.json", "\"padding\": "},
    {"tokenizer.json", "\"added_tokens\": ["},
    {"tokenizer.json", "\"normalizer\": "},
    {"tokenizer.json", "\"pre_tokenizer\": "},
    {"tokenizer.json", "\"post_processor\": "},
    {"tokenizer.json", "\"decoder\": "},
    {"tokenizer.json", "\"model\": "},
    {"model.safetensors.index.json", ""}};

Files good_files() {
  return {{"config.json", R"({"model_type": "bert", "vocab_size": 8})"},
          {"special_tokens_map.json", R"({"sep_token": {"content": "[SEP]"}})"},
          {"tokenizer_config.json",
           R"({"added_tokens_decoder": {"7": {"content": "<x>", "lstrip": true}}})"},
          {"added_tokens.json", R"({"<x>": 7})"},
          {"tokenizer.json", R"({"truncation": {"direction": "Right"},
          "padding": {"direction": "Right", "pad_token": "[PAD]"},
          "added_tokens": [{"id": 7, "content": "<x>", "lstrip": true}],
          "normalizer": {"type": "BertNormalizer", "lowercase": true},
          "pre_tokenizer": {"type": "BertPreTokenizer"},
          "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
          "decoder": {"type": "WordPiece"},
          "model": {"type": "WordPiece", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3,
                    "[MASK]": 4, "a": 5, "b": 6}}})"},
          {"model.safetensors.index.json", R"({"metadata": {"total_size": 1}, "weight_map": {}})"}};
}

// The error for the folder; empty if it is accepted.
std::string message_about(const Files& files) {
  const TemporaryFolder folder;
  for (const auto& [name, bytes] : files) folder.write(name, bytes);
  try {
    read_model_config(folder.path());
    Tokenizer::load(folder.path());
    read_tensors(folder.file("model.safetensors.index.json"));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "";
}

Files with(const std::string& file, const std::string& object, const std::string& member) {
  Files files = good_files();
  std::string& bytes = files[file];
  const std::size_t brace = bytes.find('{', object.empty() ? 0 : bytes.find(object));
  bytes.insert(brace + 1, member + ", ");
  return files;
}

TEST(ModelKeys, TakesAFolderWithoutStrangeKeys) {
  EXPECT_EQ(message_about(good_files()), "");
}

TEST(ModelKeys, RefusesAnUnknownKeyOfEachObjectOfEachFile) {
  for (const auto& [file, object] : kObjects) {
    for (const char* value : {"1", "\"rms\"", "true", "[]", "{\"deep\": 1}"}) {
      EXPECT_THAT(message_about(with(file, object, std::string("\"strange_key\": ") + value)),
                  AllOf(HasSubstr(file + ":"), HasSubstr("strange_key"), HasSubstr("Try: ")))
          << file << " " << object << " " << value;
    }
  }
}

TEST(ModelKeys, TakesAnUnknownKeyThatSaysNothing) {
  for (const auto& [file, object] : kObjects) {
    EXPECT_EQ(message_about(with(file, object, "\"strange_key\": null")), "") << file << object;
  }
}

TEST(ModelKeys, TakesKeysThatChangeNothing) {
  EXPECT_EQ(message_about(with("config.json", "", R"("use_cache": true, "torch_dtype": "float16",
      "num_beams": 4, "pooler_type": "first_token_transform", "is_decoder": false,
      "pruned_heads": {}, "directionality": "bidi")")),
            "");
  EXPECT_EQ(message_about(with("tokenizer_config.json", "", R"("name_or_path": "x",
      "padding_side": "right", "never_split": null, "chat_template": "y", "add_bos_token": false,
      "clean_up_tokenization_spaces": true)")),
            "");
}

TEST(ModelKeys, RefusesValuesThatMakeItAnotherModel) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> members = {
      {"config.json",
       {R"("is_decoder": true)", R"("add_cross_attention": true)", R"("is_encoder_decoder": true)",
        R"("pruned_heads": {"1": [0]})", R"("auto_map": {"AutoModel": "x.Y"})",
        R"("quantization_config": {"bits": 4})", R"("directionality": "left")",
        R"("position_embedding_type": "relative_key")", R"("hidden_act": "swish")",
        R"("per_layer_config": [1])", R"("problem_type": "guessing")"}},
      {"tokenizer_config.json",
       {R"("padding_side": "left")", R"("split_special_tokens": true)",
        R"("do_basic_tokenize": false)", R"("never_split": ["a"])", R"("add_bos_token": true)",
        R"("do_lower_case": "no")", R"("truncation_side": "middle")", R"("model_max_length": "x")",
        R"("model_input_names": ["pixels"])", R"("tokenizer_class": "T5Tokenizer")",
        R"("cls_token": 5)", R"("extra_special_tokens": "a")"}},
      {"special_tokens_map.json", {R"("model_max_length": 5)", R"("cls_token": {"content": 1})"}},
      {"added_tokens.json", {R"("<y>": "seven")", R"("<y>": -1)"}},
      {"tokenizer.json", {R"("version": "2.0")"}}};
  for (const auto& [file, list] : members) {
    for (const std::string& member : list) {
      const std::string key = member.substr(1, member.find('"', 1) - 1);
      EXPECT_THAT(message_about(with(file, "", member)), AllOf(HasSubstr(file), HasSubstr(key)))
          << member;
    }
  }
}

TEST(ModelKeys, SaysWhereTheKeyStands) {
  Files files = good_files();
  files["config.json"] = "{\"model_type\": \"bert\",\n  \"\u00e9\": null, \"rope_theta\": 1e4}";
  EXPECT_THAT(message_about(files), HasSubstr("config.json:2:28: cannot use 'rope_theta'"));
}

TEST(ModelKeys, SaysWhereAFileIsNotJson) {
  for (const char* file : {"config.json", "tokenizer_config.json", "special_tokens_map.json",
                           "added_tokens.json", "tokenizer.json", "model.safetensors.index.json"}) {
    Files files = good_files();
    files[file] = "{\"a\": 1,\n \"b\": oops}";
    const std::string message = message_about(files);
    EXPECT_THAT(message,
                AllOf(HasSubstr(file + std::string(":2:7: ")),
                      HasSubstr("not JSON in UTF-8, from here on: oops"), HasSubstr("Try: ")));
    EXPECT_EQ(message.find("json.exception"), std::string::npos);
    files[file] = "{\"a\": 1,\n \"b\": True}";
    EXPECT_THAT(message_about(files),
                AllOf(HasSubstr(file + std::string(":2:7: ")),
                      HasSubstr("True is Python's word, JSON's is true. Try: ")));
  }
}

TEST(ModelKeys, RefusesLabelsOfTwoMinds) {
  EXPECT_THAT(message_about(with("config.json", "", R"("id2label": {"0": "no", "1": "yes"},
      "label2id": {"no": 1, "yes": 0})")),
              HasSubstr("'no' has the id 1 here and 0 in id2label"));
  EXPECT_EQ(message_about(with("config.json", "", R"("id2label": {"0": "no", "1": "yes"},
      "label2id": {"LABEL_0": 0, "LABEL_1": 1})")),
            "");
}

TEST(ModelKeys, RefusesAModelWithAnAdapter) {
  Files files = good_files();
  files["adapter_config.json"] = "{}";
  EXPECT_THAT(message_about(files), HasSubstr("adapter_config.json"));
}

}  // namespace
}  // namespace dtl::trainer::model_keys_test
