// Writes a tokenizer so that transformers reads the same one back. All four files agree, since
// versions of transformers read different ones.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/files/new_file.h"
#include "trainer/tokens/piece_files.h"
#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {
namespace {

using OrderedJson = nlohmann::ordered_json;  // keys in the usual order

constexpr std::string_view kRobertaClass = "RobertaTokenizer";

// Keys in the order of the tokenizers library.
OrderedJson added_json(const AddedToken& token) {
  return {{"id", token.id},          {"content", token.content}, {"single_word", token.single_word},
          {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", token.normalized},
          {"special", token.special}};
}

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], in the format of tokenizers' TemplateProcessing. The
// type is 0 for the first text and, except for RoBERTa's frame, 1 for the second.
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
  if (rules.separators == 2) pair.push_back(special(rules.sep, rules.second_type));
  pair.push_back(sequence("B", rules.second_type));
  pair.push_back(special(rules.sep, rules.second_type));
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

// RoBERTa's frame, or a template; ByteLevel before it trims offsets.
OrderedJson processor_json(const TokenizerRules& rules) {
  const OrderedJson trims = {{"trim_offsets", rules.trims_offsets},
                             {"add_prefix_space", rules.keeps_blank}};
  if (rules.separators == 2 && rules.second_type == 0) {
    OrderedJson roberta = {{"type", "RobertaProcessing"},
                           {"sep", OrderedJson::array({rules.sep, id_of(rules, rules.sep)})},
                           {"cls", OrderedJson::array({rules.cls, id_of(rules, rules.cls)})}};
    roberta.update(trims);
    return roberta;
  }
  if (!rules.trims_offsets) return template_json(rules);
  OrderedJson byte_level = {{"type", "ByteLevel"}};
  byte_level.update(trims);
  byte_level["use_regex"] = true;
  return {{"type", "Sequence"},
          {"processors", OrderedJson::array({byte_level, template_json(rules)})}};
}

// {token: id} in the order of ids.
OrderedJson vocabulary_json(const TokenizerRules& rules) {
  std::unordered_map<std::string_view, std::size_t> last;  // the last of equal tokens wins
  for (std::size_t id = 0; id < rules.vocabulary.size(); ++id) last[rules.vocabulary[id]] = id;
  if (rules.empty_token >= 0) last[""] = static_cast<std::size_t>(rules.empty_token);
  OrderedJson vocabulary = OrderedJson::object();
  auto& members = vocabulary.get_ref<OrderedJson::object_t&>();
  for (std::size_t id = 0; id < rules.vocabulary.size(); ++id) {
    const std::string& token = rules.vocabulary[id];
    // Append to the underlying vector: an ordered object scans all members at every insertion.
    const bool gap = token.empty() && static_cast<std::int32_t>(id) != rules.empty_token;
    if (!gap && last[token] == id) members.push_back({token, id});
  }
  return vocabulary;
}

OrderedJson added_list(const TokenizerRules& rules) {
  OrderedJson added = OrderedJson::array();
  for (const AddedToken& token : rules.added) added.push_back(added_json(token));
  return added;
}

OrderedJson tokenizer_json(const TokenizerRules& rules) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_list(rules)},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", rules.text.clean_text},
            {"handle_chinese_chars", rules.text.chinese_apart},
            {"strip_accents", rules.text.strip_accents},
            {"lowercase", rules.text.lower_case}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", processor_json(rules)},
          {"decoder", {{"type", "WordPiece"}, {"prefix", rules.prefix}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", rules.unknown},
            {"continuing_subword_prefix", rules.prefix},
            {"max_input_chars_per_word", rules.max_word_characters},
            {"vocab", vocabulary_json(rules)}}}};
}

std::string indented(const OrderedJson& json) {
  // replace: a vocabulary may contain invalid UTF-8, for which dump() would throw.
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// BertTokenizer reads only the vocabulary from tokenizer.json. If its rules differ,
// PreTrainedTokenizerFast must read the complete file.
bool fits_bert_tokenizer(const TokenizerRules& rules) {
  return rules.text.clean_text && rules.prefix == "##" && rules.max_word_characters == 100 &&
         rules.separators == 1 && rules.second_type == 1;
}

// Writes added_tokens_decoder, so that no other file adds tokens.
OrderedJson decoder_json(const TokenizerRules& rules) {
  std::vector<AddedToken> sorted = rules.added;
  std::sort(sorted.begin(), sorted.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  OrderedJson json = OrderedJson::object();
  for (const AddedToken& token : sorted) {
    OrderedJson flags = added_json(token);
    flags.erase("id");
    json[std::to_string(token.id)] = flags;
  }
  return json;
}

OrderedJson special_tokens(const TokenizerRules& rules) {
  OrderedJson tokens = {{"cls_token", rules.cls},
                        {"mask_token", rules.mask},
                        {"pad_token", rules.pad},
                        {"sep_token", rules.sep},
                        {"unk_token", rules.unknown}};
  if (id_of(rules, rules.mask) < 0) tokens.erase("mask_token");
  if (rules.unknown.empty()) tokens.erase("unk_token");
  for (const NamedToken& other : rules.other_named) tokens[other.name] = other.token.content;
  if (!rules.extra_special.empty()) tokens["additional_special_tokens"] = rules.extra_special;
  return tokens;
}

OrderedJson config_json(const TokenizerRules& rules, const OrderedJson& tokens) {
  OrderedJson config = {{"added_tokens_decoder", decoder_json(rules)}};
  if (rules.model_max_length) config["model_max_length"] = *rules.model_max_length;
  if (rules.truncate_left) config["truncation_side"] = "left";
  config["model_input_names"] = {"input_ids", "token_type_ids", "attention_mask"};
  if (!rules.types) config["model_input_names"] = {"input_ids", "attention_mask"};
  config["tokenizer_class"] = rules.class_name;
  for (const auto& [key, value] : tokens.items()) config[key] = value;
  return config;
}

std::string compact(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string merges_text(const PieceRules& rules) {
  const std::vector<std::string>& tokens = rules.common.vocabulary;
  std::string lines = "#version: 0.2\n";
  for (const BpeMerge& merge : rules.merges) {
    lines += tokens[static_cast<std::size_t>(merge.left)] + " " +
             tokens[static_cast<std::size_t>(merge.right)] + "\n";
  }
  return lines;
}

// RobertaTokenizer's model: transformers ignores other settings.
std::string bpe_model(const PieceRules& rules) {
  const std::vector<std::string>& tokens = rules.common.vocabulary;
  OrderedJson merges = OrderedJson::array();
  for (const BpeMerge& merge : rules.merges) {
    merges.push_back({tokens[static_cast<std::size_t>(merge.left)],
                      tokens[static_cast<std::size_t>(merge.right)]});
  }
  return compact({{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", nullptr},
                  {"continuing_subword_prefix", ""},
                  {"end_of_word_suffix", ""},
                  {"fuse_unk", false},
                  {"byte_fallback", false},
                  {"ignore_merges", false},
                  {"vocab", vocabulary_json(rules.common)},
                  {"merges", merges}});
}

// The model of a class that takes only pieces and scores from a file.
std::string unigram_model(const PieceRules& rules) {
  OrderedJson pieces = OrderedJson::array();
  for (std::size_t id = 0; id < rules.scores.size(); ++id) {
    pieces.push_back({rules.common.vocabulary[id], rules.scores[id]});
  }
  return compact({{"type", "Unigram"},
                  {"unk_id", rules.unknown_id},
                  {"vocab", pieces},
                  {"byte_fallback", false}});
}

std::string model_text(const PieceRules& rules) {
  if (!rules.texts.model.empty()) return rules.texts.model;
  return rules.scores.empty() ? bpe_model(rules) : unigram_model(rules);
}

// SentencePiece's classes have a template, whatever the number of separators.
std::string made_processor(const PieceRules& rules) {
  return compact(rules.scores.empty() ? processor_json(rules.common) : template_json(rules.common));
}

// The objects of the file that was read, as they were.
std::string piece_tokenizer_json(const PieceRules& rules) {
  const PieceTexts& texts = rules.texts;
  const auto member = [](const char* key, const std::string& text) {
    return std::string(",\n  \"") + key + "\": " + (text.empty() ? "null" : text);
  };
  return "{\n  \"version\": \"1.0\"" + member("truncation", "") + member("padding", "") +
         member("added_tokens", compact(added_list(rules.common))) +
         member("normalizer", texts.normalizer) + member("pre_tokenizer", texts.pre_tokenizer) +
         member("post_processor",
                texts.post_processor.empty() ? made_processor(rules) : texts.post_processor) +
         member("decoder", texts.decoder) + member("model", model_text(rules)) + "\n}\n";
}

}  // namespace

void write_rules(const std::string& folder, const TokenizerRules& rules) {
  std::string lines;
  for (const std::string& token : rules.vocabulary) lines += token + "\n";
  TokenizerRules named = rules;
  if (rules.class_name.empty()) {
    named.class_name = fits_bert_tokenizer(rules) ? "BertTokenizer" : "PreTrainedTokenizerFast";
  }
  const OrderedJson tokens = special_tokens(rules);
  OrderedJson config = config_json(named, tokens);
  config["do_lower_case"] = rules.text.lower_case;
  config["strip_accents"] = rules.text.strip_accents;
  config["tokenize_chinese_chars"] = rules.text.chinese_apart;
  write_file_atomically(folder + "/vocab.txt", lines);
  write_file_atomically(folder + "/tokenizer.json", indented(tokenizer_json(rules)));
  write_file_atomically(folder + "/tokenizer_config.json", indented(config));
  write_file_atomically(folder + "/special_tokens_map.json", indented(tokens));
}

void write_piece_rules(const std::string& folder, const PieceRules& rules) {
  const TokenizerRules& common = rules.common;
  const OrderedJson tokens = special_tokens(common);
  OrderedJson config = config_json(common, tokens);
  if (common.class_name == kRobertaClass) {
    config["add_prefix_space"] = rules.common.keeps_blank;
    config["trim_offsets"] = rules.common.trims_offsets;
  }
  if (!rules.texts.config.empty()) config.update(OrderedJson::parse(rules.texts.config));
  write_file_atomically(folder + "/tokenizer.json", piece_tokenizer_json(rules));
  write_file_atomically(folder + "/tokenizer_config.json", indented(config));
  write_file_atomically(folder + "/special_tokens_map.json", indented(tokens));
  if (!rules.merges.empty() || (rules.texts.model.empty() && rules.scores.empty())) {
    write_file_atomically(folder + "/vocab.json", compact(vocabulary_json(common)));
    write_file_atomically(folder + "/merges.txt", merges_text(rules));
  }
}

}  // namespace dtl::trainer
