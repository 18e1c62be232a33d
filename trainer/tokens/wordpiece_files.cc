// Decides which of several files to use. A folder has either BertTokenizer's rules with a
// vocabulary, or a complete tokenizer.json (by_json). In both cases, a notice names each ignored
// file that disagrees. wordpiece.cc matches tokens.
#include "trainer/tokens/wordpiece_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/token_places.h"
#include "trainer/tokens/tokenizer_config.h"
#include "trainer/tokens/tokenizer_json.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMaxVocabularyBytes = 256 << 20;  // 250,000 tokens take 2 MB

// transformers' names for the tokenizer below, and for the one that only uses tokenizer.json.
constexpr std::array kBertClasses = {
    "BertTokenizer",       "DistilBertTokenizer", "ElectraTokenizer", "ConvBertTokenizer",
    "MobileBertTokenizer", "LayoutLMTokenizer",   "LxmertTokenizer",  "SqueezeBertTokenizer"};
constexpr std::array kWholeClasses = {"PreTrainedTokenizer", "TokenizersBackend"};

[[noreturn]] void refuse_tokenizer(const std::string& path, const std::string& reason,
                                   const std::string& hint = {}) {
  throw Error(Exit::kBadInput, fmt::format("{}: cannot use this tokenizer", path), reason, hint);
}

bool exists(const std::string& path) {
  std::error_code unreadable;
  return std::filesystem::exists(path, unreadable);
}

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

// True: use all of tokenizer.json. False: use BertTokenizer's rules with its vocabulary.
bool follows_tokenizer_json(const std::string& folder, const std::string& class_name) {
  const std::string name =
      class_name.ends_with("Fast") ? class_name.substr(0, class_name.size() - 4) : class_name;
  const auto same = [&](const char* other) { return name == other; };
  // If no file names a class, transformers chooses BertTokenizer by the model's type.
  if (name.empty() || std::any_of(kBertClasses.begin(), kBertClasses.end(), same)) return false;
  if (std::none_of(kWholeClasses.begin(), kWholeClasses.end(), same)) {
    refuse_tokenizer(folder + "/tokenizer_config.json",
                     fmt::format("its tokenizer_class is {}, which is not one of {} and {}",
                                 class_name, kBertClasses[0], "PreTrainedTokenizerFast"));
  }
  if (!exists(folder + "/tokenizer.json")) {
    refuse_tokenizer(folder + "/tokenizer_config.json",
                     fmt::format("its tokenizer_class, {}, is read from a tokenizer.json, which "
                                 "is not there",
                                 class_name),
                     "\"tokenizer_class\": \"BertTokenizer\", if that is what made vocab.txt");
  }
  return true;
}

std::string named_token(const TokenizerConfig& config, const char* name,
                        const std::string& otherwise) {
  const auto same = [&](const NamedToken& other) { return other.name == name; };
  const auto found = std::find_if(config.named.begin(), config.named.end(), same);
  return found == config.named.end() ? otherwise : found->token.content;
}

// BertTokenizer's settings from the files besides the vocabulary.
void set_bert_rules(const TokenizerConfig& config, TokenizerRules& rules) {
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

// Whether a file of the folder has the token, in the vocabulary or with an id.
bool is_declared(const TokenizerRules& rules, const std::vector<AddedToken>& listed,
                 const std::string& token) {
  const auto same = [&](const AddedToken& other) { return other.content == token; };
  return std::any_of(listed.begin(), listed.end(), same) ||
         std::find(rules.vocabulary.begin(), rules.vocabulary.end(), token) !=
             rules.vocabulary.end();
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

// Adds all verbatim tokens, in transformers' order.
void add_tokens(const std::string& folder, std::vector<AddedToken> of_json, bool whole,
                const TokenizerConfig& config, TokenizerRules& rules) {
  TokenPlaces places(rules, folder);
  if (whole) {
    for (const AddedToken& token : of_json) places.add(token);
  }
  std::vector<AddedToken> listed = config.listed;
  // added_tokens_decoder replaces the list of tokenizer.json.
  if (!config.has_decoder) listed.insert(listed.begin(), of_json.begin(), of_json.end());
  std::stable_sort(listed.begin(), listed.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  for (const AddedToken& token : listed) places.add(token);
  for (const NamedToken& named : config.named) places.add(named.token);
  if (!whole) {
    for (const std::string& token : {rules.unknown, rules.sep, rules.pad, rules.cls, rules.mask}) {
      places.add({.content = token});
    }
  }
  const std::size_t before = rules.added.size();
  for (const AddedToken& token : config.extra) places.add(token);
  // transformers appends a missing [MASK], for which models have no embedding. Remove it.
  if (rules.added.size() == before && before > 0 && rules.added.back().content == rules.mask &&
      !is_declared(rules, listed, rules.mask)) {
    rules.added.pop_back();
  }
}

// Encoding needs these tokens.
void check_specials(const std::string& path, const std::vector<AddedToken>& of_json,
                    const TokenizerConfig& config, const TokenizerRules& rules) {
  std::vector<AddedToken> listed = config.listed;
  listed.insert(listed.end(), of_json.begin(), of_json.end());
  const std::pair<const char*, const std::string*> tokens[] = {{"unk_token", &rules.unknown},
                                                               {"cls_token", &rules.cls},
                                                               {"sep_token", &rules.sep},
                                                               {"pad_token", &rules.pad}};
  for (const auto& [name, token] : tokens) {
    if (is_declared(rules, listed, *token)) continue;
    refuse_tokenizer(path, fmt::format("'{}' is not in the vocabulary", *token),
                     fmt::format("\"{}\" in tokenizer_config.json, with the vocabulary's word "
                                 "for it",
                                 name));
  }
}

// Reports tokens that a file names but that do not count.
void tell_left_out(const std::string& folder, const std::vector<AddedToken>& of_json,
                   const TokenizerConfig& config, const TokenizerRules& rules) {
  std::vector<NamedToken> left_out = config.left_out;
  for (const AddedToken& token : of_json) left_out.push_back({"tokenizer.json", token});
  for (const NamedToken& each : left_out) {
    const std::string& content = each.token.content;
    const auto same = [&](const AddedToken& other) { return other.content == content; };
    if (std::any_of(rules.added.begin(), rules.added.end(), same)) continue;
    log_notice(
        fmt::format("{}/{}: '{}' is not a token: tokenizer_config.json has a list without it, "
                    "which counts, as in transformers",
                    folder, each.name, content));
  }
}

void set_written_names(const TokenizerConfig& config, TokenizerRules& rules) {
  constexpr std::array kWritten = {"unk_token", "cls_token", "sep_token", "pad_token",
                                   "mask_token"};
  for (const NamedToken& named : config.named) {
    const auto same = [&](const char* name) { return named.name == name; };
    if (std::none_of(kWritten.begin(), kWritten.end(), same)) rules.other_named.push_back(named);
  }
  for (const AddedToken& token : config.extra) rules.extra_special.push_back(token.content);
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

std::int32_t id_of(const TokenizerRules& rules, const std::string& token) {
  for (const AddedToken& added : rules.added) {
    if (added.content == token) return added.id;
  }
  const auto found = std::find(rules.vocabulary.rbegin(), rules.vocabulary.rend(), token);
  // Search from the end: the last of equal tokens wins. rend() gives -1.
  return static_cast<std::int32_t>(rules.vocabulary.rend() - found) - 1;
}

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
  const TokenizerConfig config = read_tokenizer_config(folder);
  const std::string whole = folder + "/tokenizer.json", plain = folder + "/vocab.txt";
  if (!exists(whole) && !exists(plain)) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot load a tokenizer", folder),
                "there is neither tokenizer.json nor vocab.txt", "dttrain init --help");
  }
  const std::string& path = exists(whole) ? whole : plain;
  const bool by_json = follows_tokenizer_json(folder, config.class_name);
  TokenizerJson json;
  if (exists(whole)) {
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
    set_bert_rules(config, rules);
    if (exists(whole)) tell_differences(whole, json.rules, rules);
    if (!exists(whole)) tell_guess(plain, config, rules);
  }
  check_specials(path, json.rules.added, config, rules);
  add_tokens(folder, json.rules.added, by_json, config, rules);
  tell_left_out(folder, json.rules.added, config, rules);
  set_written_names(config, rules);
  rules.truncate_left = config.truncate_left.value_or(json.truncate_left.value_or(false));
  // DistilBertTokenizer and PreTrainedTokenizerFast omit types by default.
  rules.types = config.types.value_or(!by_json && !config.class_name.starts_with("DistilBert"));
  rules.model_max_length = config.model_max_length;
  return rules;
}

}  // namespace dtl::trainer
