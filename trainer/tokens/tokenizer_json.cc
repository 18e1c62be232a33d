// Accepts exactly what our Subwords implement: BertNormalizer, BertPreTokenizer, WordPiece and
// BERT's template. Anything else is an error that names it. An approximation would feed a model
// other tokens than in training, and nobody would see why results are worse.
#include "trainer/tokens/tokenizer_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trainer/files/model_keys.h"
#include "trainer/json/json_text.h"

namespace dtl::trainer {
namespace {

using LibraryJson = nlohmann::json;  // fast look-up of 30,000 tokens

constexpr std::size_t kMaxTokenizerJsonBytes = 256 << 20;  // 250,000 tokens take 10 MB
constexpr std::int64_t kMaxId = 1 << 24;
constexpr std::size_t kSparse = 8, kFewTokens = 1000;  // ids may have gaps, but each takes memory

// The file, or the object at one of its keys (`outer`). Errors name the position of a key. Keeps
// references: file, bytes and json must outlive it.
class LibraryObject {
 public:
  LibraryObject(const std::string& file, const std::string& bytes, const LibraryJson& json,
                std::string_view outer = "")
      : file_(file), bytes_(bytes), json_(json), outer_(outer) {}

  [[noreturn]] void fail(std::string_view key, const std::string& reason,
                         const std::string& hint = {}) const {
    const std::string place = outer_.empty() ? json_place(file_, bytes_, {key})
                              : key.empty()  ? json_place(file_, bytes_, {outer_})
                                             : json_place(file_, bytes_, {outer_, key});
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use this tokenizer", place), reason, hint);
  }

  void check(const KnownKeys& object) const {
    check_keys(object, json_, [&](const std::string& key, const KeyRefusal& refusal) {
      fail(key, fmt::format("{}: {}", refusal.what, refusal.reason), refusal.hint);
    });
  }

  const LibraryJson& json() const { return json_; }
  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  LibraryObject object(const char* key) const {
    if (!has(key)) fail(key, fmt::format("it has no {}", key));
    if (!json_[key].is_object()) fail(key, fmt::format("'{}' is not an object", key));
    return {file_, bytes_, json_[key], key};
  }

  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_string()) fail(key, fmt::format("'{}' is not a text", key));
    return json_[key].get<std::string>();
  }

  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) fail(key, fmt::format("'{}' is not true or false", key));
    return json_[key].get<bool>();
  }

  std::int32_t id(std::string_view key, const LibraryJson& value) const {
    const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
    if (number < 0 || number > kMaxId) {
      fail(key, fmt::format("{} is not a token id",
                            value.is_primitive() ? value.dump() : "a list or object"));
    }
    return static_cast<std::int32_t>(number);
  }

 private:
  const std::string& file_;
  const std::string& bytes_;
  const LibraryJson& json_;
  std::string_view outer_;
};

void read_normalizer(const LibraryObject& json, TextRules& rules) {
  const std::string type = json.text("type", "none");
  if (type != "BertNormalizer") json.fail("", "its normalizer is not a BertNormalizer but " + type);
  json.check(keys_of::kNormalizer);
  rules.clean_text = json.flag("clean_text", true);
  rules.chinese_apart = json.flag("handle_chinese_chars", true);
  rules.lower_case = json.flag("lowercase", true);
  // null means: same as lowercase, as in tokenizers.
  rules.strip_accents = json.flag("strip_accents", rules.lower_case);
}

void read_pre_tokenizer(const LibraryObject& json) {
  const std::string type = json.text("type", "none");
  if (type != "BertPreTokenizer") json.fail("", "its pre_tokenizer is " + type);
  json.check(keys_of::kPreTokenizer);
}

void read_model(const LibraryObject& json, TokenizerRules& rules) {
  const std::string type = json.text("type", "WordPiece");
  if (type != "WordPiece") json.fail("type", "its model is not WordPiece but " + type);
  json.check(keys_of::kWordPiece);
  if (!json.has("vocab") || !json.json()["vocab"].is_object()) {
    json.fail("", "it has no model.vocab");
  }
  rules.unknown = json.text("unk_token", rules.unknown);
  rules.prefix = json.text("continuing_subword_prefix", rules.prefix);
  if (json.has("max_input_chars_per_word")) {
    const char* key = "max_input_chars_per_word";
    rules.max_word_characters = json.id(key, json.json()[key]);
  }
  const LibraryJson& vocabulary = json.json()["vocab"];
  // Otherwise a single id of 16 million in a small file would allocate that many tokens.
  const std::size_t most = kSparse * vocabulary.size() + kFewTokens;
  for (const auto& [token, value] : vocabulary.items()) {
    const auto id = static_cast<std::size_t>(json.id("vocab", value));
    if (id >= most) {
      json.fail("vocab",
                fmt::format("a token has the id {} in a vocabulary of {}", id, vocabulary.size()));
    }
    // Gaps stay "". empty_token tells whether one of them is a real token.
    if (id >= rules.vocabulary.size()) rules.vocabulary.resize(id + 1);
    rules.vocabulary[id] = token;
    if (token.empty()) rules.empty_token = static_cast<std::int32_t>(id);
  }
}

// The text of a pair such as ["[CLS]", 101].
std::string first_text(const LibraryObject& json, const char* key) {
  const bool there = json.has(key) && json.json()[key].is_array() && !json.json()[key].empty();
  if (!there || !json.json()[key][0].is_string()) {
    json.fail(key, fmt::format("its post_processor has no {}", key));
  }
  return json.json()[key][0].get<std::string>();
}

// "[CLS]:0 A:0 .."; empty if it is not a list of such parts.
std::vector<std::string> template_items(const LibraryObject& json, const char* key) {
  std::vector<std::string> items;
  if (!json.has(key) || !json.json()[key].is_array()) json.fail(key, "it is not a template");
  for (const LibraryJson& item : json.json()[key]) {
    const char* kind = item.is_object() && item.contains("Sequence") ? "Sequence" : "SpecialToken";
    const bool good = item.is_object() && item.size() == 1 && item.contains(kind) &&
                      item[kind].is_object() && item[kind].contains("id") &&
                      item[kind]["id"].is_string() && item[kind].contains("type_id");
    if (!good) json.fail(key, "its template has another part than Sequence and SpecialToken");
    items.push_back(fmt::format("{}:{}", item[kind]["id"].get<std::string>(),
                                json.id(key, item[kind]["type_id"])));
  }
  return items;
}

// The only template that BERT uses: [CLS] A [SEP] and [CLS] A [SEP] B [SEP].
void read_template(const LibraryObject& json, TokenizerRules& rules) {
  const std::string type = json.text("type", "none");
  if (type != "BertProcessing" && type != "TemplateProcessing") {
    json.fail("", "its post_processor is " + type);
  }
  json.check(keys_of::kPostProcessor);
  if (type == "BertProcessing") {
    rules.cls = first_text(json, "cls");
    rules.sep = first_text(json, "sep");
    return;
  }
  std::vector<std::string> items = template_items(json, "single");
  for (const std::string& item : template_items(json, "pair")) items.push_back(item);
  if (items.empty()) json.fail("", "its template is empty");
  // Without ":0".
  rules.cls = items.front().substr(0, items.front().size() - 2);
  rules.sep = items.back().substr(0, items.back().size() - 2);
  const std::string cls = rules.cls + ":0", sep = rules.sep + ":0";
  const std::vector<std::string> expected = {cls,   "A:0", sep,   cls,
                                             "A:0", sep,   "B:1", rules.sep + ":1"};
  if (items != expected) json.fail("", "its template is not [CLS] A [SEP] B [SEP]");
}

void read_added(const LibraryObject& json, TokenizerRules& rules) {
  const char* key = "added_tokens";
  if (!json.has(key)) return;
  if (!json.json()[key].is_array()) json.fail(key, "its added_tokens are not a list");
  for (const LibraryJson& item : json.json()[key]) {
    AddedToken token;
    const bool good = item.is_object() && item.contains("content") && item["content"].is_string() &&
                      item["content"] != "" && item.contains("id");
    if (!good) json.fail(key, "an added token has no content or id");
    check_keys(keys_of::kAddedToken, item, [&](const std::string& inner, const KeyRefusal& why) {
      json.fail(key, fmt::format("'{}': {}", inner, why.reason), why.hint);
    });
    const auto flag = [&](const char* name, bool otherwise) {
      if (!item.contains(name) || item[name].is_null()) return otherwise;
      if (!item[name].is_boolean()) json.fail(key, fmt::format("'{}' is not true or false", name));
      return item[name].get<bool>();
    };
    token.content = item["content"].get<std::string>();
    token.id = json.id(key, item["id"]);
    token.single_word = flag("single_word", false);
    token.lstrip = flag("lstrip", false);
    token.rstrip = flag("rstrip", false);
    // tokenizers' defaults, which differ from AddedToken's here.
    token.normalized = flag("normalized", true);
    token.special = flag("special", false);
    rules.added.push_back(token);
  }
}

void read_lengths(const LibraryObject& json, TokenizerJson& to) {
  if (json.has("truncation")) {
    const LibraryObject truncation = json.object("truncation");
    truncation.check(keys_of::kTruncation);
    const std::string side = truncation.text("direction", "Right");
    if (side != "Left" && side != "Right") {
      truncation.fail("direction", fmt::format("'{}' is neither Left nor Right", side));
    }
    to.truncate_left = side == "Left";
  }
  if (json.has("padding")) {
    const LibraryObject padding = json.object("padding");
    padding.check(keys_of::kPadding);
    to.rules.pad = padding.text("pad_token", to.rules.pad);
  }
  if (json.has("decoder")) json.object("decoder").check(keys_of::kDecoder);
}

}  // namespace

TokenizerJson read_tokenizer_json(const std::string& path) {
  const JsonComplaint complaint{"cannot use this tokenizer"};
  const std::string bytes = read_json_text(path, kMaxTokenizerJsonBytes, complaint);
  const LibraryJson json = LibraryJson::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse_json(path, bytes, complaint);
  const LibraryObject whole(path, bytes, json);
  whole.check(keys_of::kTokenizerJson);
  TokenizerJson result;
  read_normalizer(whole.object("normalizer"), result.rules.text);
  read_pre_tokenizer(whole.object("pre_tokenizer"));
  read_model(whole.object("model"), result.rules);
  read_template(whole.object("post_processor"), result.rules);
  read_added(whole, result.rules);
  read_lengths(whole, result);
  return result;
}

}  // namespace dtl::trainer
