// Decides which of several files to use. A folder has either BertTokenizer's rules with a
// vocabulary, or a complete tokenizer.json (by_json). In both cases, a notice names each ignored
// file that disagrees. wordpiece.cc matches tokens.
#include "trainer/tokens/wordpiece_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/special_tokens.h"
#include "trainer/tokens/tokenizer_class.h"
#include "trainer/tokens/tokenizer_json.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMaxVocabularyBytes = 256 << 20;  // 250,000 tokens take 2 MB

// One token per line; the line number is the id. Ignores white space at the end of a line.
std::vector<std::string> read_vocabulary(const std::string& path) {
  const std::string bytes = read_regular_file(path, kMaxVocabularyBytes);
  // transformers reads the mark as part of the first token, which then never matches.
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    refuse_tokenizer(path + ":1:1", "a byte order mark is before its first token",
                     fmt::format("sed -i '1s/^\\xEF\\xBB\\xBF//' {}", one_shell_word(path)));
  }
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

// [UNK] and similar tokens have capitals in every vocabulary, so skip them.
bool has_capitals(const std::vector<std::string>& vocabulary) {
  return std::any_of(vocabulary.begin(), vocabulary.end(), [](const std::string& token) {
    return !token.empty() && token.front() != '[' &&
           std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

// BertTokenizer's settings from the files besides the vocabulary.
void set_bert_rules(TokenizerKind kind, const TokenizerConfig& config, TokenizerRules& rules) {
  const TokenizerRules usual;
  rules.text.clean_text = true;
  rules.text.lower_case = config.lower_case.value_or(true);
  rules.text.strip_accents = config.strip_accents.value_or(rules.text.lower_case);
  rules.text.chinese_apart = config.chinese_apart.value_or(true);
  rules.prefix = usual.prefix;
  rules.max_word_characters = usual.max_word_characters;
  rules.unknown = named_token(config, "unk_token", usual.unknown);
  rules.cls = named_token(config, "cls_token", usual.cls);
  rules.sep = named_token(config, "sep_token", usual.sep);
  rules.pad = named_token(config, "pad_token", usual.pad);
  rules.mask = named_token(config, "mask_token", usual.mask);
  const bool twice = kind == TokenizerKind::kMpnet;
  rules.separators = twice ? 2 : 1;
  rules.second_type = twice ? 0 : 1;
  rules.trims_offsets = twice;
  rules.keeps_blank = false;
  if (twice) rules.class_name = "MPNetTokenizer";
}

// Reports settings of tokenizer.json that differ from BertTokenizer's.
void tell_differences(const std::string& path, const TokenizerRules& file,
                      const TokenizerRules& rules) {
  const auto tell = [&](const char* what, const std::string& there, const std::string& here) {
    if (there == here) return;
    log_notice(fmt::format(
        "{}: its {} is {}, but that of tokenizer_config.json, or its default, is {} and "
        "counts, as in transformers. Try: \"tokenizer_class\": "
        "\"PreTrainedTokenizerFast\" in tokenizer_config.json",
        path, what, there, here));
  };
  const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
  tell("lowercase", truth(file.text.lower_case), truth(rules.text.lower_case));
  tell("strip_accents", truth(file.text.strip_accents), truth(rules.text.strip_accents));
  tell("handle_chinese_chars", truth(file.text.chinese_apart), truth(rules.text.chinese_apart));
  tell("clean_text", truth(file.text.clean_text), truth(rules.text.clean_text));
  tell("continuing_subword_prefix", file.prefix, rules.prefix);
  tell("max_input_chars_per_word", std::to_string(file.max_word_characters),
       std::to_string(rules.max_word_characters));
  tell("unk_token", file.unknown, rules.unknown);
  tell("first token", file.cls, rules.cls);
  tell("last token", file.sep, rules.sep);
}

// Reports settings that PreTrainedTokenizerFast ignores.
void tell_ignored(const std::string& folder, const TokenizerConfig& config,
                  const TokenizerRules& rules) {
  const auto tell = [&](const char* key, std::optional<bool> said, bool rule) {
    if (!said || *said == rule) return;
    log_notice(
        fmt::format("{0}/tokenizer_config.json: its {1} is {2}, but that of {0}/tokenizer.json is "
                    "{3} and counts for a {4}, as in transformers. Try: \"tokenizer_class\": "
                    "\"BertTokenizer\"",
                    folder, key, *said, rule, config.class_name));
  };
  tell("do_lower_case", config.lower_case, rules.text.lower_case);
  tell("strip_accents", config.strip_accents, rules.text.strip_accents);
  tell("tokenize_chinese_chars", config.chinese_apart, rules.text.chinese_apart);
}

void tell_guess(const std::string& path, const TokenizerConfig& config,
                const TokenizerRules& rules) {
  if (config.lower_case || !has_capitals(rules.vocabulary)) return;
  log_notice(
      fmt::format("{}: the vocabulary has capitals, but text is lowercased, as in transformers: "
                  "tokenizer_config.json does not set do_lower_case. Try: \"do_lower_case\": false "
                  "in tokenizer_config.json",
                  path));
}

void tell_no_types(const std::string& folder, const TokenizerConfig& config) {
  log_notice(
      fmt::format("{}/tokenizer_config.json: a {} gives both texts of a pair the type 0, as in "
                  "transformers. Try: \"model_input_names\": [\"input_ids\", "
                  "\"token_type_ids\", \"attention_mask\"]",
                  folder, config.class_name));
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

TokenizerRules read_rules(const std::string& folder, TokenizerKind kind,
                          const TokenizerConfig& config) {
  const std::string whole = folder + "/tokenizer.json", plain = folder + "/vocab.txt";
  const std::string& path = file_exists(whole) ? whole : plain;
  const bool by_json = kind == TokenizerKind::kWhole;
  if (config.add_prefix_space.value_or(false)) {
    refuse_tokenizer(folder + "/tokenizer_config.json",
                     "'add_prefix_space' is true, but WordPiece puts no blank before a text");
  }
  TokenizerJson json;
  if (file_exists(whole)) {
    json = read_tokenizer_json(whole);
  } else {
    json.rules.vocabulary = read_vocabulary(plain);
    // An empty line of vocab.txt is a token, "".
    json.rules.empty_token = id_of(json.rules, "");
  }
  TokenizerRules rules = json.rules;
  rules.added.clear();
  if (by_json) {
    rules.pad = named_token(config, "pad_token", rules.pad);
    rules.mask = named_token(config, "mask_token", rules.mask);
    tell_ignored(folder, config, rules);
    if (!config.types) tell_no_types(folder, config);
  } else {
    set_bert_rules(kind, config, rules);
    if (file_exists(whole)) tell_differences(whole, json.rules, rules);
    if (!file_exists(whole)) tell_guess(plain, config, rules);
  }
  check_specials(path, json.rules.added, config, rules, /*needs_unknown=*/true);
  add_tokens(folder, json.rules.added, by_json, config, rules);
  tell_left_out(folder, json.rules.added, config, rules);
  set_written_names(config, rules);
  rules.truncate_left = config.truncate_left.value_or(json.truncate_left.value_or(false));
  // Other classes and DistilBertTokenizer omit types by default.
  rules.types = config.types.value_or(kind == TokenizerKind::kBert &&
                                      !config.class_name.starts_with("DistilBert"));
  rules.model_max_length = config.model_max_length;
  return rules;
}

}  // namespace dtl::trainer
