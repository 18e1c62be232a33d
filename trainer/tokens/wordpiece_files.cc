#include "trainer/tokens/wordpiece_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "trainer/files/json_depth.h"
#include "trainer/tokens/unicode.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;                 // for reading: quick look-up of 30,000 tokens
using OrderedJson = nlohmann::ordered_json;  // for writing: keys in the order people know

constexpr std::size_t kMaxTokenizerBytes = 256 << 20;  // tokenizer.json of 250,000 tokens has 10 MB
constexpr std::int64_t kMaxId = 1 << 24;
constexpr std::size_t kSparse = 8, kFewTokens = 1000;  // ids may leave gaps, but each takes memory

[[noreturn]] void refuse_tokenizer(const std::string& path, const std::string& reason) {
  throw Error(Exit::kBadInput, fmt::format("{}: cannot use this tokenizer", path), reason);
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Json parse_object(const std::string& path) {
  const std::string bytes = read_file(path, kMaxTokenizerBytes);
  if (nests_too_deep(bytes)) refuse_tokenizer(path, kNestsTooDeep);
  Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse_tokenizer(path, "it is not a JSON object");
  return json;
}

bool has(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && !json[key].is_null();
}

bool flag(const Json& json, const char* key, bool otherwise) {
  return has(json, key) && json[key].is_boolean() ? json[key].get<bool>() : otherwise;
}

std::string text(const Json& json, const char* key, const std::string& otherwise) {
  if (!has(json, key)) return otherwise;
  // A special token is written as a text or as {"content": text, ..}.
  const Json value = json[key].is_object() ? json[key].value("content", Json()) : json[key];
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::int32_t id_in(const std::string& path, const Json& value) {
  const std::int64_t id = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (id < 0 || id > kMaxId)
    refuse_tokenizer(path, fmt::format("{} is not a token id", value.dump()));
  return static_cast<std::int32_t>(id);
}

void read_normalizer(const std::string& path, const Json& json, TextRules& rules) {
  const std::string type = text(json, "type", "none");
  if (type != "BertNormalizer")
    refuse_tokenizer(path, "its normalizer is not a BertNormalizer but " + type);
  rules.clean_text = flag(json, "clean_text", true);
  rules.chinese_apart = flag(json, "handle_chinese_chars", true);
  rules.lower_case = flag(json, "lowercase", true);
  rules.strip_accents = flag(json, "strip_accents", rules.lower_case);
}

void read_model(const std::string& path, const Json& json, TokenizerRules& rules) {
  if (!has(json, "vocab") || !json["vocab"].is_object())
    refuse_tokenizer(path, "it has no model.vocab");
  const std::string type = text(json, "type", "WordPiece");
  if (type != "WordPiece") refuse_tokenizer(path, "its model is not WordPiece but " + type);
  rules.unknown = text(json, "unk_token", rules.unknown);
  rules.prefix = text(json, "continuing_subword_prefix", rules.prefix);
  if (has(json, "max_input_chars_per_word")) {
    rules.max_word_characters = id_in(path, json["max_input_chars_per_word"]);
  }
  const std::size_t most = kSparse * json["vocab"].size() + kFewTokens;
  for (const auto& [token, value] : json["vocab"].items()) {
    const auto id = static_cast<std::size_t>(id_in(path, value));
    if (id >= most) {
      refuse_tokenizer(path, fmt::format("a token has the id {} in a vocabulary of {}", id,
                                         json["vocab"].size()));
    }
    if (id >= rules.vocabulary.size()) rules.vocabulary.resize(id + 1);
    rules.vocabulary[id] = token;
  }
}

// Of a pair such as ["[CLS]", 101].
std::string first_text(const std::string& path, const Json& json, const char* key) {
  const bool there = has(json, key) && json[key].is_array() && !json[key].empty();
  if (!there || !json[key][0].is_string()) {
    refuse_tokenizer(path, fmt::format("its post_processor has no {}", key));
  }
  return json[key][0].get<std::string>();
}

// The only template that BERT uses: [CLS] A [SEP] and [CLS] A [SEP] B [SEP].
void read_template(const std::string& path, const Json& json, TokenizerRules& rules) {
  const std::string type = text(json, "type", "none");
  if (type == "BertProcessing") {
    rules.cls = first_text(path, json, "cls");
    rules.sep = first_text(path, json, "sep");
    return;
  }
  if (type != "TemplateProcessing") refuse_tokenizer(path, "its post_processor is " + type);
  std::vector<std::string> items;
  for (const char* key : {"single", "pair"}) {
    for (const Json& item : json.at(key)) {
      const Json& value = item.contains("Sequence") ? item.at("Sequence") : item.at("SpecialToken");
      items.push_back(fmt::format("{}:{}", value.at("id").get<std::string>(),
                                  id_in(path, value.at("type_id"))));
    }
  }
  if (items.empty()) refuse_tokenizer(path, "its template is empty");
  rules.cls = items.front().substr(0, items.front().size() - 2);
  rules.sep = items.back().substr(0, items.back().size() - 2);
  const std::string cls = rules.cls + ":0", sep = rules.sep + ":0";
  const std::vector<std::string> expected = {cls,   "A:0", sep,   cls,
                                             "A:0", sep,   "B:1", rules.sep + ":1"};
  if (items != expected) refuse_tokenizer(path, "its template is not [CLS] A [SEP] B [SEP]");
}

void read_added(const std::string& path, const Json& json, TokenizerRules& rules) {
  if (!json.is_array()) refuse_tokenizer(path, "its added_tokens are not a list");
  for (const Json& item : json) {
    AddedToken token;
    token.content = text(item, "content", "");
    if (token.content.empty() || !has(item, "id"))
      refuse_tokenizer(path, "an added token has no content or id");
    token.id = id_in(path, item["id"]);
    token.single_word = flag(item, "single_word", false);
    token.lstrip = flag(item, "lstrip", false);
    token.rstrip = flag(item, "rstrip", false);
    token.normalized = flag(item, "normalized", true);
    token.special = flag(item, "special", false);
    rules.added.push_back(token);
  }
}

TokenizerRules read_tokenizer_json(const std::string& path) {
  Json json = parse_object(path);
  TokenizerRules rules;
  try {
    read_normalizer(path, json["normalizer"], rules.text);
    const std::string splitter = text(json["pre_tokenizer"], "type", "none");
    if (splitter != "BertPreTokenizer") refuse_tokenizer(path, "its pre_tokenizer is " + splitter);
    read_model(path, json["model"], rules);
    read_template(path, json["post_processor"], rules);
    if (has(json, "added_tokens")) read_added(path, json["added_tokens"], rules);
  } catch (const Json::exception& error) {
    refuse_tokenizer(path, error.what());
  }
  return rules;
}

// One token per line, its number is the id; white space at the end of a line is not part of it.
std::vector<std::string> read_vocabulary(const std::string& path) {
  const std::string bytes = read_file(path, kMaxTokenizerBytes);
  std::vector<std::string> tokens;
  for (std::size_t start = 0; start < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', start), bytes.size());
    const std::string_view line = std::string_view(bytes).substr(start, end - start);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < line.size();) {
      if (!is_white_space(next_code_point(line, at))) kept = at;
    }
    tokens.emplace_back(line.substr(0, kept));
    start = end + 1;
  }
  return tokens;
}

bool has_capitals(const std::vector<std::string>& vocabulary) {
  return std::any_of(vocabulary.begin(), vocabulary.end(), [](const std::string& token) {
    return token.front() != '[' &&
           std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

TokenizerRules read_vocab_txt(const std::string& path, const Json& config) {
  const std::vector<std::string> vocabulary = read_vocabulary(path);
  std::vector<std::string> named;
  std::copy_if(vocabulary.begin(), vocabulary.end(), std::back_inserter(named),
               [](const std::string& token) { return !token.empty(); });
  bool lower_case = !has_capitals(named);
  if (has(config, "do_lower_case")) {
    lower_case = flag(config, "do_lower_case", lower_case);
  } else {
    log_notice(fmt::format(
        "{}: no tokenizer_config.json says do_lower_case; {} capitals in the "
        "vocabulary, so text is {}",
        path, lower_case ? "no" : "there are", lower_case ? "lowered" : "kept as it is"));
  }
  TokenizerRules rules = make_rules(vocabulary, lower_case);
  rules.text.strip_accents = flag(config, "strip_accents", lower_case);
  rules.text.chinese_apart = flag(config, "tokenize_chinese_chars", true);
  return rules;
}

OrderedJson added_json(const AddedToken& token) {
  return {{"id", token.id},          {"content", token.content}, {"single_word", token.single_word},
          {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", token.normalized},
          {"special", token.special}};
}

std::int32_t id_of(const TokenizerRules& rules, const std::string& token) {
  for (const AddedToken& added : rules.added) {
    if (added.content == token) return added.id;
  }
  const auto found = std::find(rules.vocabulary.rbegin(), rules.vocabulary.rend(), token);
  return static_cast<std::int32_t>(rules.vocabulary.rend() - found) - 1;
}

OrderedJson template_json(const TokenizerRules& rules) {
  const auto special = [](const std::string& token, int type) -> OrderedJson {
    return {{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) -> OrderedJson {
    return {{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  OrderedJson single =
      OrderedJson::array({special(rules.cls, 0), sequence("A", 0), special(rules.sep, 0)});
  OrderedJson pair = single;
  pair.push_back(sequence("B", 1));
  pair.push_back(special(rules.sep, 1));
  OrderedJson tokens = OrderedJson::object();
  for (const std::string& token : {rules.cls, rules.sep}) {
    tokens[token] = {{"id", token},
                     {"ids", OrderedJson::array({id_of(rules, token)})},
                     {"tokens", OrderedJson::array({token})}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

OrderedJson tokenizer_json(const TokenizerRules& rules) {
  std::unordered_map<std::string_view, std::size_t>
      last;  // of several equal tokens, the one to keep
  for (std::size_t id = 0; id < rules.vocabulary.size(); ++id) last[rules.vocabulary[id]] = id;
  OrderedJson vocabulary = OrderedJson::object();
  auto& members = vocabulary.get_ref<OrderedJson::object_t&>();
  for (std::size_t id = 0; id < rules.vocabulary.size(); ++id) {
    const std::string& token = rules.vocabulary[id];
    // Appended unseen: an ordered object looks through all its members at every insertion.
    if (!token.empty() && last[token] == id) members.push_back({token, id});
  }
  OrderedJson added = OrderedJson::array();
  for (const AddedToken& token : rules.added) added.push_back(added_json(token));
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", rules.text.clean_text},
            {"handle_chinese_chars", rules.text.chinese_apart},
            {"strip_accents", rules.text.strip_accents},
            {"lowercase", rules.text.lower_case}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", template_json(rules)},
          {"decoder", {{"type", "WordPiece"}, {"prefix", rules.prefix}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", rules.unknown},
            {"continuing_subword_prefix", rules.prefix},
            {"max_input_chars_per_word", rules.max_word_characters},
            {"vocab", vocabulary}}}};
}

std::string indented(const OrderedJson& json) {
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

TokenizerRules make_rules(std::vector<std::string> vocabulary, bool lower_case) {
  TokenizerRules rules;
  rules.vocabulary = std::move(vocabulary);
  rules.text.lower_case = lower_case;
  rules.text.strip_accents = lower_case;
  for (const std::string& token : {rules.pad, rules.unknown, rules.cls, rules.sep, rules.mask}) {
    const std::int32_t id = id_of(rules, token);
    if (id >= 0) rules.added.push_back({.content = token, .id = id});
  }
  return rules;
}

TokenizerRules read_rules(const std::string& folder) {
  const std::string whole = folder + "/tokenizer.json", plain = folder + "/vocab.txt";
  const std::string settings = folder + "/tokenizer_config.json";
  const Json config = exists(settings) ? parse_object(settings) : Json::object();
  if (!exists(whole) && !exists(plain)) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot load a tokenizer", folder),
                "there is neither tokenizer.json nor vocab.txt",
                "dttrain init --help makes a new model");
  }
  TokenizerRules rules = exists(whole) ? read_tokenizer_json(whole) : read_vocab_txt(plain, config);
  rules.pad = text(config, "pad_token", rules.pad);
  rules.mask = text(config, "mask_token", rules.mask);
  if (has(config, "model_max_length") && config["model_max_length"].is_number_integer()) {
    rules.model_max_length = config["model_max_length"].get<std::int64_t>();
  }
  for (const std::string& token : {rules.unknown, rules.cls, rules.sep, rules.pad}) {
    if (id_of(rules, token) < 0) {
      refuse_tokenizer(exists(whole) ? whole : plain,
                       fmt::format("'{}' is not in the vocabulary", token));
    }
  }
  return rules;
}

void write_rules(const std::string& folder, const TokenizerRules& rules) {
  std::string lines;
  for (const std::string& token : rules.vocabulary) lines += token + "\n";
  OrderedJson tokens = {{"cls_token", rules.cls},
                        {"mask_token", rules.mask},
                        {"pad_token", rules.pad},
                        {"sep_token", rules.sep},
                        {"unk_token", rules.unknown}};
  if (id_of(rules, rules.mask) < 0) tokens.erase("mask_token");
  OrderedJson config = {{"do_lower_case", rules.text.lower_case},
                        {"strip_accents", rules.text.strip_accents},
                        {"tokenize_chinese_chars", rules.text.chinese_apart},
                        {"model_max_length", rules.model_max_length},
                        {"tokenizer_class", "BertTokenizer"}};
  for (const auto& [key, value] : tokens.items()) config[key] = value;
  write_file_atomically(folder + "/vocab.txt", lines);
  write_file_atomically(folder + "/tokenizer.json", indented(tokenizer_json(rules)));
  write_file_atomically(folder + "/tokenizer_config.json", indented(config));
  write_file_atomically(folder + "/special_tokens_map.json", indented(tokens));
}

}  // namespace dtl::trainer
