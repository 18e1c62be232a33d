// Reads three files into one value. Over the years, transformers has written special tokens under
// several keys and files. The order of reads is AutoTokenizer's; wordpiece_files.cc uses the
// result.
#include "trainer/tokens/tokenizer_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "trainer/files/model_keys.h"
#include "trainer/json/json_text.h"

namespace dtl::trainer {
namespace {

using ConfigJson = nlohmann::ordered_json;  // tokens in file order

constexpr std::size_t kMaxConfigFileBytes = 64 << 20;  // a list of 250,000 tokens
constexpr double kNoLimit = 1e9;                       // transformers writes 1e30 for "no limit"
// In the order of their ids.
constexpr std::array<const char*, 7> kTokenNames = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// One file. Errors name it and the position.
class ConfigFile {
 public:
  explicit ConfigFile(std::string path) : path_(std::move(path)) {
    std::error_code unreadable;
    if (!std::filesystem::exists(path_, unreadable)) return;
    const JsonComplaint complaint{"cannot use this tokenizer"};
    bytes_ = read_json_text(path_, kMaxConfigFileBytes, complaint);
    json_ = ConfigJson::parse(bytes_, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) refuse_json(path_, bytes_, complaint);
  }

  // A missing file reads as an empty object.
  const ConfigJson& json() const { return json_; }
  bool has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }

  [[noreturn]] void fail(const std::string& key, const std::string& reason,
                         const std::string& hint = {}) const {
    fail_at(key, fmt::format("'{}'", key), reason, hint);
  }

  // Any other string key that ends in _token names a special token of this model.
  void check() const {
    ConfigJson known = ConfigJson::object();
    for (const auto& [key, value] : json_.items()) {
      if (!key.ends_with("_token") || !value.is_string()) known[key] = value;
    }
    check_keys(keys_of::kTokenizerConfig, known,
               [&](const std::string& key, const KeyRefusal& refusal) {
                 fail_at(key, refusal.what, refusal.reason, refusal.hint);
               });
  }

  std::optional<bool> flag(const char* key) const {
    if (!has(key)) return std::nullopt;
    if (!json_[key].is_boolean()) fail(key, "it is not true or false");
    return json_[key].get<bool>();
  }

  std::string text(const char* key) const {
    if (!has(key)) return {};
    if (!json_[key].is_string()) fail(key, "it is not a text");
    return json_[key].get<std::string>();
  }

  // A token is a text, or an object with flags.
  AddedToken token(const std::string& key, const ConfigJson& json, AddedToken token) const {
    if (json.is_string()) {
      token.content = json.get<std::string>();
    } else if (json.is_object()) {
      check_keys(keys_of::kAddedToken, json, [&](const std::string& inner, const KeyRefusal& why) {
        fail(key, fmt::format("{}: {}", inner, why.reason), why.hint);
      });
      take_flags(key, json, token);
    }
    if (token.content.empty()) fail(key, "there is a token without text");
    return token;
  }

 private:
  void take_flags(const std::string& key, const ConfigJson& json, AddedToken& token) const {
    const auto take = [&](const char* name, bool& flag) {
      if (!json.contains(name) || json[name].is_null()) return;
      if (!json[name].is_boolean()) fail(key, fmt::format("'{}' is not true or false", name));
      flag = json[name].get<bool>();
    };
    if (json.contains("content") && json["content"].is_string()) {
      token.content = json["content"].get<std::string>();
    }
    take("special", token.special);
    // AddedToken's default in the tokenizers library. The file's value, below, overrides it.
    token.normalized = !token.special;
    take("normalized", token.normalized);
    take("single_word", token.single_word);
    take("lstrip", token.lstrip);
    take("rstrip", token.rstrip);
  }

  [[noreturn]] void fail_at(const std::string& key, const std::string& what,
                            const std::string& reason, const std::string& hint) const {
    throw Error(Exit::kBadInput,
                fmt::format("{}: cannot use {}", json_place(path_, bytes_, {key}), what), reason,
                hint);
  }

  std::string path_, bytes_ = "{}";
  ConfigJson json_ = ConfigJson::object();
};

// A token in a later file replaces one with the same name.
void set_named(TokenizerConfig& config, const std::string& name, const AddedToken& token,
               bool plain = false) {
  const auto same = [&](const NamedToken& other) { return other.name == name; };
  const auto found = std::find_if(config.named.begin(), config.named.end(), same);
  if (found != config.named.end()) {
    found->token = token;
    found->plain = plain;
  } else {
    config.named.push_back({name, token, plain});
  }
}

void add_extra(std::vector<AddedToken>& tokens, const AddedToken& token) {
  const auto same = [&](const AddedToken& other) { return other.content == token.content; };
  if (std::none_of(tokens.begin(), tokens.end(), same)) tokens.push_back(token);
}

// A list of tokens, or an object with this model's own token names as keys.
void read_extra(const ConfigFile& file, const char* key, TokenizerConfig& config) {
  if (!file.has(key)) return;
  const ConfigJson& json = file.json()[key];
  if (!json.is_array() && !json.is_object()) file.fail(key, "it is not a list of tokens");
  config.has_extra = true;
  for (const auto& [name, item] : json.items()) {
    AddedToken token = file.token(key, item, {});
    token.special = true;
    if (json.is_object()) {
      set_named(config, name, token);
    } else {
      add_extra(config.extra, token);
    }
  }
}

// Any key that ends in _token counts, to include the model's own tokens.
void read_named(const ConfigFile& file, TokenizerConfig& config) {
  for (const auto& [key, json] : file.json().items()) {
    // add_bos_token and similar keys are switches, not tokens.
    if (!key.ends_with("_token") || key.starts_with("add_") || json.is_null()) continue;
    AddedToken token = file.token(key, json, {});
    token.special = true;
    set_named(config, key, token, json.is_string());
  }
}

void read_decoder(const ConfigFile& file, TokenizerConfig& config) {
  const char* key = "added_tokens_decoder";
  config.has_decoder = file.has(key);
  if (!config.has_decoder) return;
  if (!file.json()[key].is_object()) file.fail(key, "it is not an object {\"id\": token, ..}");
  for (const auto& [id, json] : file.json()[key].items()) {
    // Unlike in the other lists, tokens here are ordinary unless their flags say special.
    AddedToken token = file.token(key, json, {.normalized = true, .special = false});
    const auto [end, wrong] = std::from_chars(id.data(), id.data() + id.size(), token.id);
    if (wrong != std::errc() || end != id.data() + id.size() || token.id < 0) {
      file.fail(key, fmt::format("'{}' is not a token id", id));
    }
    config.listed.push_back(token);
  }
}

// token -> id
void read_added_tokens(const ConfigFile& file, TokenizerConfig& config) {
  const auto is_special = [&](const std::string& content) {
    const auto same = [&](const NamedToken& other) { return other.token.content == content; };
    const auto alike = [&](const AddedToken& other) { return other.content == content; };
    return std::any_of(config.named.begin(), config.named.end(), same) ||
           std::any_of(config.extra.begin(), config.extra.end(), alike);
  };
  for (const auto& [content, id] : file.json().items()) {
    const std::int64_t number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
    if (number < 0 || number > INT32_MAX) file.fail(content, "its value is not a token id");
    const bool special = is_special(content);
    config.listed.push_back({.content = content,
                             .id = static_cast<std::int32_t>(number),
                             .normalized = !special,
                             .special = special});
  }
}

// Tokens that added_tokens_decoder overrides, for a notice.
void remember_left_out(const ConfigFile& map, const ConfigFile& added, TokenizerConfig& config) {
  TokenizerConfig other;
  read_named(map, other);
  read_extra(map, "additional_special_tokens", other);
  read_extra(map, "extra_special_tokens", other);
  for (const NamedToken& each : other.named) other.extra.push_back(each.token);
  for (const AddedToken& token : other.extra) {
    config.left_out.push_back({"special_tokens_map.json", token});
  }
  read_added_tokens(added, other);
  for (const AddedToken& token : other.listed) {
    config.left_out.push_back({"added_tokens.json", token});
  }
}

void read_tokens(const std::string& folder, const ConfigFile& file, TokenizerConfig& config) {
  const ConfigFile map(folder + "/special_tokens_map.json");
  const ConfigFile added(folder + "/added_tokens.json");
  map.check();
  for (const auto& [key, value] : map.json().items()) {
    if (!value.is_null() && !key.ends_with("_token") && !key.ends_with("_special_tokens")) {
      map.fail(key, "this file may have only special tokens");
    }
  }
  read_named(file, config);
  read_extra(file, "extra_special_tokens", config);
  // The older name of the same list.
  if (config.extra.empty()) read_extra(file, "additional_special_tokens", config);
  read_decoder(file, config);
  if (config.has_decoder) return remember_left_out(map, added, config);
  read_named(map, config);
  read_extra(map, "extra_special_tokens", config);
  // transformers reads these after added_tokens.json.
  TokenizerConfig later;
  read_extra(map, "additional_special_tokens", later);
  if (!config.extra.empty()) {
    for (const AddedToken& token : later.extra) {
      config.left_out.push_back({"special_tokens_map.json", token});
    }
    later.extra.clear();
  }
  config.has_extra = config.has_extra || later.has_extra;
  read_added_tokens(added, config);
  for (const AddedToken& token : later.extra) add_extra(config.extra, token);
}

std::optional<std::int64_t> length_in(const ConfigFile& file) {
  // max_len is the older name of the same setting.
  for (const char* key : {"model_max_length", "max_len"}) {
    if (!file.has(key)) continue;
    const ConfigJson& json = file.json()[key];
    if (!json.is_number() || !(json.get<double>() >= 1)) file.fail(key, "it is not a length");
    if (json.get<double>() >= kNoLimit) return std::nullopt;
    return static_cast<std::int64_t>(json.get<double>());
  }
  return std::nullopt;
}

std::optional<std::int64_t> unknown_id_in(const ConfigFile& file) {
  const char* key = "unk_id";
  if (!file.has(key)) return std::nullopt;
  const ConfigJson& json = file.json()[key];
  if (!json.is_number_integer()) file.fail(key, "it is not a token id");
  return json.get<std::int64_t>();
}

std::optional<bool> truncates_left(const ConfigFile& file) {
  const std::string side = file.text("truncation_side");
  if (side.empty()) return std::nullopt;
  if (side != "left" && side != "right") {
    file.fail("truncation_side", fmt::format("'{}' is neither left nor right", side));
  }
  return side == "left";
}

std::optional<bool> has_types(const ConfigFile& file) {
  const char* key = "model_input_names";
  if (!file.has(key)) return std::nullopt;
  const ConfigJson& names = file.json()[key];
  if (!names.is_array()) file.fail(key, "it is not a list of names");
  for (const ConfigJson& name : names) {
    if (name == "input_ids" || name == "attention_mask" || name == "token_type_ids") continue;
    file.fail(key, "dttrain gives a model only input_ids, attention_mask and token_type_ids");
  }
  return std::find(names.begin(), names.end(), "token_type_ids") != names.end();
}

}  // namespace

TokenizerConfig read_tokenizer_config(const std::string& folder) {
  const ConfigFile file(folder + "/tokenizer_config.json");
  file.check();
  TokenizerConfig config;
  config.class_name = file.text("tokenizer_class");
  const ConfigFile model(folder + "/config.json");
  if (config.class_name.empty()) config.class_name = model.text("tokenizer_class");
  config.model_type = model.text("model_type");
  config.add_prefix_space = file.flag("add_prefix_space");
  config.trim_offsets = file.flag("trim_offsets");
  config.split_by_punct = file.flag("split_by_punct");
  config.unknown_id = unknown_id_in(file);
  config.lower_case = file.flag("do_lower_case");
  config.strip_accents = file.flag("strip_accents");
  config.chinese_apart = file.flag("tokenize_chinese_chars");
  config.truncate_left = truncates_left(file);
  config.types = has_types(file);
  config.model_max_length = length_in(file);
  read_tokens(folder, file, config);
  // Names that are not in kTokenNames come last, in file order.
  const auto rank = [](const NamedToken& token) {
    return std::find(kTokenNames.begin(), kTokenNames.end(), token.name) - kTokenNames.begin();
  };
  std::stable_sort(config.named.begin(), config.named.end(),
                   [&](const NamedToken& a, const NamedToken& b) { return rank(a) < rank(b); });
  return config;
}

}  // namespace dtl::trainer
