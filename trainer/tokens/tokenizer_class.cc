// Follows AutoTokenizer.from_pretrained of transformers 5 for a local folder.
#include "trainer/tokens/tokenizer_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "trainer/tokens/special_tokens.h"

namespace dtl::trainer {
namespace {

constexpr std::array kClasses = {
    TokenizerClass{"BertTokenizer", TokenizerKind::kBert},
    TokenizerClass{"DistilBertTokenizer", TokenizerKind::kBert},
    TokenizerClass{"ElectraTokenizer", TokenizerKind::kBert},
    TokenizerClass{"ConvBertTokenizer", TokenizerKind::kBert},
    TokenizerClass{"MobileBertTokenizer", TokenizerKind::kBert},
    TokenizerClass{"LayoutLMTokenizer", TokenizerKind::kBert},
    TokenizerClass{"LxmertTokenizer", TokenizerKind::kBert},
    TokenizerClass{"SqueezeBertTokenizer", TokenizerKind::kBert},
    TokenizerClass{"MPNetTokenizer", TokenizerKind::kMpnet},
    TokenizerClass{"RobertaTokenizer", TokenizerKind::kRoberta},
    TokenizerClass{"XLMRobertaTokenizer", TokenizerKind::kXlmRoberta},
    TokenizerClass{"CamembertTokenizer", TokenizerKind::kCamembert},
    TokenizerClass{"DebertaV2Tokenizer", TokenizerKind::kDebertaV2},
    TokenizerClass{"PreTrainedTokenizer", TokenizerKind::kWhole},
    TokenizerClass{"TokenizersBackend", TokenizerKind::kWhole},
};

// The class of a model whose files name none; BertTokenizer for all others.
constexpr std::array kByModelType = {
    std::pair{"mpnet", "MPNetTokenizer"},
    std::pair{"roberta", "RobertaTokenizer"},
    std::pair{"xlm-roberta", "XLMRobertaTokenizer"},
    std::pair{"camembert", "CamembertTokenizer"},
    std::pair{"deberta-v2", "DebertaV2Tokenizer"},
    std::pair{"modernbert", "TokenizersBackend"},
};

// transformers does not believe the class that these models' files name.
constexpr std::string_view kAlwaysWhole = "modernbert";

// By the names of tokenizer_config.json, in the order of their ids.
using UsualTokens = std::array<std::pair<const char*, const char*>, 7>;
constexpr UsualTokens kRobertaTokens = {{{"bos_token", "<s>"},
                                         {"eos_token", "</s>"},
                                         {"unk_token", "<unk>"},
                                         {"sep_token", "</s>"},
                                         {"pad_token", "<pad>"},
                                         {"cls_token", "<s>"},
                                         {"mask_token", "<mask>"}}};
constexpr UsualTokens kMpnetTokens = {{{"bos_token", "<s>"},
                                       {"eos_token", "</s>"},
                                       {"unk_token", "[UNK]"},
                                       {"sep_token", "</s>"},
                                       {"pad_token", "<pad>"},
                                       {"cls_token", "<s>"},
                                       {"mask_token", "<mask>"}}};
constexpr UsualTokens kBertTokens = {{{"bos_token", "[CLS]"},
                                      {"eos_token", "[SEP]"},
                                      {"unk_token", "[UNK]"},
                                      {"sep_token", "[SEP]"},
                                      {"pad_token", "[PAD]"},
                                      {"cls_token", "[CLS]"},
                                      {"mask_token", "[MASK]"}}};

const TokenizerClass* find_class(std::string_view name) {
  const auto same = [&](const TokenizerClass& other) { return name == other.name; };
  const auto found = std::find_if(kClasses.begin(), kClasses.end(), same);
  return found == kClasses.end() ? nullptr : &*found;
}

std::string class_name_of(const TokenizerConfig& config) {
  std::string name = config.class_name;
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (config.model_type == kAlwaysWhole) name = "TokenizersBackend";
  if (!name.empty()) return name;
  for (const auto& [type, class_name] : kByModelType) {
    if (config.model_type == type) return class_name;
  }
  return kClasses[0].name;
}

std::string class_names() {
  std::vector<std::string> names;
  for (const TokenizerClass& each : kClasses) {
    if (each.kind != TokenizerKind::kWhole) names.emplace_back(each.name);
  }
  return join(names, ", ");
}

}  // namespace

bool file_exists(const std::string& path) {
  std::error_code unreadable;
  return std::filesystem::exists(path, unreadable);
}

const TokenizerClass& tokenizer_class_of(const std::string& folder, const TokenizerConfig& config) {
  const std::string name = class_name_of(config);
  const TokenizerClass* found = find_class(name);
  if (found == nullptr) {
    refuse_tokenizer(folder + "/tokenizer_config.json",
                     fmt::format("its tokenizer_class is {}, which is not one of {} and {}",
                                 config.class_name, class_names(), "PreTrainedTokenizerFast"));
  }
  if (found->kind == TokenizerKind::kWhole && !file_exists(folder + "/tokenizer.json")) {
    refuse_tokenizer(folder + "/tokenizer_config.json",
                     fmt::format("its tokenizer_class, {}, is read from a tokenizer.json, which "
                                 "is not there",
                                 name),
                     "\"tokenizer_class\": \"BertTokenizer\", if that is what made vocab.txt");
  }
  return *found;
}

void add_usual_tokens(TokenizerKind kind, TokenizerConfig& config) {
  if (kind == TokenizerKind::kBert || kind == TokenizerKind::kWhole) return;
  const UsualTokens& usual = kind == TokenizerKind::kDebertaV2 ? kBertTokens
                             : kind == TokenizerKind::kMpnet   ? kMpnetTokens
                                                               : kRobertaTokens;
  std::vector<NamedToken> named;  // in the order of their ids
  for (const auto& [name, token] : usual) {
    const auto same = [&, key = std::string_view(name)](const NamedToken& other) {
      return other.name == key;
    };
    const auto there = std::find_if(config.named.begin(), config.named.end(), same);
    NamedToken added =
        there != config.named.end() ? *there : NamedToken{name, {.content = token}, /*plain=*/true};
    // The mask of these takes the blank before it.
    if ((kind == TokenizerKind::kMpnet || kind == TokenizerKind::kCamembert) && added.plain &&
        added.name == "mask_token")
      added.token.lstrip = true;
    named.push_back(std::move(added));
    if (there != config.named.end()) config.named.erase(there);
  }
  named.insert(named.end(), config.named.begin(), config.named.end());
  config.named = std::move(named);
  if (kind != TokenizerKind::kCamembert || config.has_extra) return;
  for (const char* token : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}) {
    config.extra.push_back({.content = token});
  }
}

}  // namespace dtl::trainer
