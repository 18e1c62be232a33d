#include "trainer/tokens/special_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "trainer/tokens/token_places.h"

namespace dtl::trainer {
namespace {

// Whether a file of the folder has the token, in the vocabulary or with an id.
bool is_declared(const TokenizerRules& rules, const std::vector<AddedToken>& listed,
                 const std::string& token) {
  const auto same = [&](const AddedToken& other) { return other.content == token; };
  return std::any_of(listed.begin(), listed.end(), same) ||
         std::find(rules.vocabulary.begin(), rules.vocabulary.end(), token) !=
             rules.vocabulary.end();
}

}  // namespace

void refuse_tokenizer(const std::string& path, const std::string& reason, const std::string& hint) {
  throw Error(Exit::kBadInput, fmt::format("{}: cannot use this tokenizer", path), reason, hint);
}

std::string named_token(const TokenizerConfig& config, const char* name,
                        const std::string& otherwise) {
  const auto same = [&](const NamedToken& other) { return other.name == name; };
  const auto found = std::find_if(config.named.begin(), config.named.end(), same);
  return found == config.named.end() ? otherwise : found->token.content;
}

std::int32_t id_of(const TokenizerRules& rules, const std::string& token) {
  for (const AddedToken& added : rules.added) {
    if (added.content == token) return added.id;
  }
  const auto found = std::find(rules.vocabulary.rbegin(), rules.vocabulary.rend(), token);
  // Search from the end: the last of equal tokens wins. rend() gives -1.
  return static_cast<std::int32_t>(rules.vocabulary.rend() - found) - 1;
}

void add_tokens(const std::string& folder, const std::vector<AddedToken>& of_json, bool whole,
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

void check_specials(const std::string& path, const std::vector<AddedToken>& of_json,
                    const TokenizerConfig& config, const TokenizerRules& rules,
                    bool needs_unknown) {
  std::vector<AddedToken> listed = config.listed;
  listed.insert(listed.end(), of_json.begin(), of_json.end());
  const std::pair<const char*, const std::string*> tokens[] = {{"unk_token", &rules.unknown},
                                                               {"cls_token", &rules.cls},
                                                               {"sep_token", &rules.sep},
                                                               {"pad_token", &rules.pad}};
  for (const auto& [name, token] : tokens) {
    if (is_declared(rules, listed, *token)) continue;
    if (token == &rules.unknown && !needs_unknown) continue;
    refuse_tokenizer(path, fmt::format("'{}' is not in the vocabulary", *token),
                     fmt::format("\"{}\" in tokenizer_config.json, with the vocabulary's word "
                                 "for it",
                                 name));
  }
}

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

}  // namespace dtl::trainer
