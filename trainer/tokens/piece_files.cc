// Chooses among the files of a folder, and fills in what a class of transformers adds by itself.
#include "trainer/tokens/piece_files.h"

#include <utility>

#include "trainer/pieces/byte_level.h"
#include "trainer/tokens/sentencepiece_files.h"
#include "trainer/tokens/special_tokens.h"

namespace dtl::trainer {
namespace {

// RobertaTokenizer's steps, as text and as values.
void set_roberta_steps(const TokenizerConfig& config, PieceRules& rules) {
  const bool prefix = config.add_prefix_space.value_or(false);
  const auto byte_level = [](bool with_prefix) {
    return std::make_unique<const ByteLevel>(ByteLevel::Rules{.add_prefix_space = with_prefix});
  };
  rules.pre_tokenizers.push_back(byte_level(prefix));
  // As run_ner.py loads it: transformers demands add_prefix_space for texts split into words.
  if (!prefix) rules.of_words.push_back(byte_level(true));
  rules.common.trims_offsets = config.trim_offsets.value_or(true);
  rules.common.keeps_blank = prefix;
  rules.common.separators = 2;
  rules.common.second_type = 0;
  const std::string with = prefix ? "true" : "false";
  rules.texts.pre_tokenizer = "{\"type\":\"ByteLevel\",\"add_prefix_space\":" + with +
                              ",\"trim_offsets\":true,\"use_regex\":true}";
  rules.texts.decoder =
      "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}";
}

void set_special_tokens(const TokenizerConfig& config, bool whole, TokenizerRules& rules) {
  rules.unknown = named_token(config, "unk_token", "");
  rules.pad = named_token(config, "pad_token", rules.pad);
  rules.mask = named_token(config, "mask_token", rules.mask);
  if (whole) return;
  rules.cls = named_token(config, "cls_token", rules.cls);
  rules.sep = named_token(config, "sep_token", rules.sep);
}

}  // namespace

PieceRules read_piece_rules(const std::string& folder, const TokenizerClass& named,
                            TokenizerConfig& config) {
  std::string path = folder + "/tokenizer.json";
  const bool sentencepiece = is_sentencepiece(named.kind);
  const bool whole = named.kind == TokenizerKind::kWhole;
  const bool by_json = file_exists(path);
  if (!by_json)
    path = folder + "/" + (sentencepiece ? sentencepiece_file(named.kind) : "vocab.json");
  PieceJson json;
  if (by_json) {
    json = read_piece_json(path, named,
                           sentencepiece ? sentencepiece_step_types(named.kind, config)
                                         : StepTypes{"null", "ByteLevel"});
  } else if (sentencepiece) {
    read_sentencepiece_rules(folder, named.kind, config, json.rules);
  } else {
    read_bpe_files(folder, json.rules);
  }
  PieceRules rules = std::move(json.rules);
  TokenizerRules& common = rules.common;
  const std::vector<AddedToken> listed = std::exchange(common.added, {});
  set_special_tokens(config, whole, common);
  if (sentencepiece) {
    set_sentencepiece_steps(path, named.kind, config, rules);
  } else if (!whole) {
    set_roberta_steps(config, rules);
  }
  common.class_name = whole ? "PreTrainedTokenizerFast" : named.name;
  check_specials(path, listed, config, common, /*needs_unknown=*/false);
  add_tokens(folder, listed, whole, config, common);
  tell_left_out(folder, listed, config, common);
  set_written_names(config, common);
  common.truncate_left = config.truncate_left.value_or(json.truncate_left.value_or(false));
  common.types = config.types.value_or(named.kind == TokenizerKind::kDebertaV2);
  common.model_max_length = config.model_max_length;
  return rules;
}

}  // namespace dtl::trainer
