#pragma once
// LibraryObject: an object of a tokenizer.json, whose errors name file, line and key; and the parts
// that are alike for every kind of tokenizer: added tokens, special tokens around texts, lengths.
// Templates, because nlohmann-json must not be in a header.

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trainer/files/model_keys.h"
#include "trainer/json/json_text.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

constexpr std::size_t kMaxTokenizerJsonBytes = 256 << 20;  // 250,000 tokens take 10 MB
constexpr std::int64_t kMaxTokenId = 1 << 24;
// Ids may have gaps, but each takes memory.
constexpr std::size_t kSparseTokens = 8, kFewTokens = 1000;

// The file, or the object at one of its keys (`outer`). Errors name the position of a key. Keeps
// references: file, bytes and json must outlive it.
template <class Json>
class LibraryObject {
 public:
  LibraryObject(const std::string& file, const std::string& bytes, const Json& json,
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

  const Json& json() const { return json_; }
  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  LibraryObject object(const char* key) const {
    if (!has(key)) fail(key, fmt::format("it has no {}", key));
    if (!json_[key].is_object()) fail(key, fmt::format("'{}' is not an object", key));
    return {file_, bytes_, json_[key], key};
  }

  // An object in a list at one of this object's keys; errors name the position of this object.
  LibraryObject item(const Json& json) const {
    if (!json.is_object()) fail("", "an item of a list is not an object");
    return {file_, bytes_, json, outer_};
  }

  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_string()) fail(key, fmt::format("'{}' is not a text", key));
    return json_[key].template get<std::string>();
  }

  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) fail(key, fmt::format("'{}' is not true or false", key));
    return json_[key].template get<bool>();
  }

  std::int32_t id(std::string_view key, const Json& value) const {
    const std::int64_t number = value.is_number_integer() ? value.template get<std::int64_t>() : -1;
    if (number < 0 || number > kMaxTokenId) {
      fail(key, fmt::format("{} is not a token id",
                            value.is_primitive() ? value.dump() : "a list or object"));
    }
    return static_cast<std::int32_t>(number);
  }

 private:
  const std::string& file_;
  const std::string& bytes_;
  const Json& json_;
  std::string_view outer_;
};

// Tokens with ids, an object {"token": id, ..} at one of the keys.
template <class Json>
void read_vocabulary(const LibraryObject<Json>& json, const Json& vocabulary,
                     TokenizerRules& rules) {
  // Otherwise a single id of 16 million in a small file would allocate that many tokens.
  const std::size_t most = kSparseTokens * vocabulary.size() + kFewTokens;
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

// The same of a model.
template <class Json>
void read_vocabulary(const LibraryObject<Json>& model, TokenizerRules& rules) {
  if (!model.has("vocab") || !model.json()["vocab"].is_object()) {
    model.fail("", "it has no model.vocab");
  }
  read_vocabulary(model, model.json()["vocab"], rules);
}

// The special tokens around texts, from a post_processor.
struct LibraryFrame {
  std::string cls, sep;
  int separators = 1;
  std::int8_t second_type = 1;
  bool trims_offsets = false;  // blanks at the ends of tokens are not part of their offsets
  bool prefix = false;         // .. but one that add_prefix_space put before a text is
};

// The text of a pair such as ["[CLS]", 101].
template <class Json>
std::string first_text(const LibraryObject<Json>& json, const char* key) {
  const bool there = json.has(key) && json.json()[key].is_array() && !json.json()[key].empty();
  if (!there || !json.json()[key][0].is_string()) {
    json.fail(key, fmt::format("its post_processor has no {}", key));
  }
  return json.json()[key][0].template get<std::string>();
}

// "[CLS]:0 A:0 .."; empty if it is not a list of such parts.
template <class Json>
std::vector<std::string> template_items(const LibraryObject<Json>& json, const char* key) {
  std::vector<std::string> items;
  if (!json.has(key) || !json.json()[key].is_array()) json.fail(key, "it is not a template");
  for (const Json& item : json.json()[key]) {
    const char* kind = item.is_object() && item.contains("Sequence") ? "Sequence" : "SpecialToken";
    const bool good = item.is_object() && item.size() == 1 && item.contains(kind) &&
                      item[kind].is_object() && item[kind].contains("id") &&
                      item[kind]["id"].is_string() && item[kind].contains("type_id");
    if (!good) json.fail(key, "its template has another part than Sequence and SpecialToken");
    items.push_back(fmt::format("{}:{}", item[kind]["id"].template get<std::string>(),
                                json.id(key, item[kind]["type_id"])));
  }
  return items;
}

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], or with two separators between the texts.
template <class Json>
void read_template(const LibraryObject<Json>& json, LibraryFrame& frame) {
  const std::vector<std::string> single = template_items(json, "single");
  const std::vector<std::string> pair = template_items(json, "pair");
  const auto fail = [&] {
    json.fail("", "its template is neither [CLS] A [SEP] B [SEP] nor [CLS] A [SEP] [SEP] B [SEP]");
  };
  const bool long_enough = single.size() == 3 && pair.size() >= 5;
  if (!long_enough || !single[0].ends_with(":0") || !single[2].ends_with(":0")) fail();
  const auto name = [](const std::string& item) { return item.substr(0, item.size() - 2); };
  frame.cls = name(single[0]);
  frame.sep = name(single[2]);
  frame.separators = static_cast<int>(pair.size()) - 4;
  const std::string type = pair.back().ends_with(":0") ? ":0" : ":1";
  frame.second_type = type == ":0" ? 0 : 1;
  std::vector<std::string> expected = {single[0], "A:0", single[2]};
  if (single != expected || frame.separators > 2) fail();
  if (frame.separators == 2) expected.push_back(frame.sep + type);
  expected.insert(expected.end(), {"B" + type, frame.sep + type});
  if (pair != expected) fail();
}

template <class Json>
LibraryFrame read_frame(const LibraryObject<Json>& json) {
  const std::string type = json.text("type", "none");
  LibraryFrame frame;
  if (type == "Sequence") {
    json.check(keys_of::kSequence);
    if (!json.has("processors") || !json.json()["processors"].is_array()) {
      json.fail("", "its post_processor has no list of processors");
    }
    // ByteLevel only trims offsets.
    const Json& items = json.json()["processors"];
    const bool trims = items.size() == 2 && items[0].is_object() && items[0].contains("type") &&
                       items[0]["type"] == "ByteLevel";
    if (!trims && items.size() != 1) {
      json.fail("", "its post_processor is a Sequence of others than ByteLevel and a template");
    }
    frame = read_frame(json.item(items.back()));
    if (!trims) return frame;
    const LibraryObject<Json> first = json.item(items[0]);
    first.check(keys_of::kByteLevel);
    frame.trims_offsets = first.flag("trim_offsets", true);
    frame.prefix = first.flag("add_prefix_space", true);
    return frame;
  }
  if (type != "BertProcessing" && type != "RobertaProcessing" && type != "TemplateProcessing") {
    json.fail("", "its post_processor is " + type +
                      ", which is not one of BertProcessing, RobertaProcessing, "
                      "TemplateProcessing and a Sequence of ByteLevel and one of them");
  }
  json.check(keys_of::kPostProcessor);
  if (type == "TemplateProcessing") {
    read_template(json, frame);
    return frame;
  }
  frame.cls = first_text(json, "cls");
  frame.sep = first_text(json, "sep");
  if (type == "RobertaProcessing") {
    frame.separators = 2;
    frame.second_type = 0;
    frame.trims_offsets = json.flag("trim_offsets", true);
    frame.prefix = json.flag("add_prefix_space", true);
  }
  return frame;
}

template <class Json>
std::vector<AddedToken> read_added(const LibraryObject<Json>& json) {
  const char* key = "added_tokens";
  std::vector<AddedToken> tokens;
  if (!json.has(key)) return tokens;
  if (!json.json()[key].is_array()) json.fail(key, "its added_tokens are not a list");
  for (const Json& item : json.json()[key]) {
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
      return item[name].template get<bool>();
    };
    token.content = item["content"].template get<std::string>();
    token.id = json.id(key, item["id"]);
    token.single_word = flag("single_word", false);
    token.lstrip = flag("lstrip", false);
    token.rstrip = flag("rstrip", false);
    // tokenizers' defaults, which differ from AddedToken's here.
    token.normalized = flag("normalized", true);
    token.special = flag("special", false);
    tokens.push_back(token);
  }
  return tokens;
}

// Lengths come from options; the files decide only which side is cut and which token pads.
struct LibraryLengths {
  std::optional<bool> truncate_left;
  std::optional<std::string> pad;
};

template <class Json>
LibraryLengths read_lengths(const LibraryObject<Json>& json) {
  LibraryLengths to;
  if (json.has("truncation")) {
    const LibraryObject<Json> truncation = json.object("truncation");
    truncation.check(keys_of::kTruncation);
    const std::string side = truncation.text("direction", "Right");
    if (side != "Left" && side != "Right") {
      truncation.fail("direction", fmt::format("'{}' is neither Left nor Right", side));
    }
    to.truncate_left = side == "Left";
  }
  if (json.has("padding")) {
    const LibraryObject<Json> padding = json.object("padding");
    padding.check(keys_of::kPadding);
    if (padding.has("pad_token")) to.pad = padding.text("pad_token", "");
  }
  if (json.has("decoder")) json.object("decoder").check(keys_of::kDecoder);
  return to;
}

}  // namespace dtl::trainer
