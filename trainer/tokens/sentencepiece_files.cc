// As in transformers 5: tokenization_xlm_roberta.py, tokenization_camembert.py and
// tokenization_deberta_v2.py, and for SentencePiece's own files their converters.
#include "trainer/tokens/sentencepiece_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "trainer/pieces/base64.h"
#include "trainer/pieces/metaspace.h"
#include "trainer/pieces/normalizers.h"
#include "trainer/pieces/precompiled.h"
#include "trainer/pieces/unigram.h"
#include "trainer/pieces/whitespace.h"
#include "trainer/tokens/sentencepiece_model.h"
#include "trainer/tokens/special_tokens.h"

namespace dtl::trainer {
namespace {

using StepJson = nlohmann::ordered_json;  // keys in the usual order

constexpr const char* kDebertaBlanks = "\\s{2,}|[\\n\\r\\t]";
constexpr std::int64_t kUnknownOfXlmRoberta = 3, kUnknownOfDeberta = 1;  // if no file has another
constexpr double kNeverScore = -100;                                     // a piece that is not used

std::string dump(const StepJson& json) {
  return json.dump(-1, ' ', false, StepJson::error_handler_t::replace);
}

struct ScoredPieces {
  std::vector<std::string> pieces;
  std::vector<double> scores;

  void add(const std::string& piece, double score) {
    pieces.push_back(piece);
    scores.push_back(score);
  }
};

// The pieces with the tokens that stand before and after them in a model's embeddings.
ScoredPieces arranged(const SentencePieceModel& model, TokenizerKind kind,
                      const TokenizerConfig& config) {
  ScoredPieces result;
  const auto add_named = [&](const char* name) { result.add(named_token(config, name, ""), 0); };
  // The embeddings of these two kinds follow fairseq's order of special tokens, and not that of the
  // SentencePiece file.
  std::size_t skipped = 0;  // <unk>, and for XLM-RoBERTa <s> and </s>
  if (kind == TokenizerKind::kXlmRoberta) {
    for (const char* name : {"bos_token", "pad_token", "eos_token", "unk_token"}) add_named(name);
    skipped = 3;
  } else if (kind == TokenizerKind::kCamembert) {
    result.add("<s>NOTUSED", 0);
    add_named("pad_token");
    result.add("</s>NOTUSED", 0);
    add_named("unk_token");
    result.add("<unk>NOTUSED", kNeverScore);
    skipped = 1;
  }
  for (std::size_t id = skipped; id < model.pieces.size(); ++id) {
    result.add(model.pieces[id], model.scores[id]);
  }
  if (kind != TokenizerKind::kDebertaV2) add_named("mask_token");
  return result;
}

std::int64_t unknown_of(TokenizerKind kind, const TokenizerConfig& config,
                        const PieceRules& rules) {
  if (kind == TokenizerKind::kXlmRoberta) return kUnknownOfXlmRoberta;
  const std::vector<std::string>& pieces = rules.common.vocabulary;
  const bool deberta = kind == TokenizerKind::kDebertaV2;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    // DeBERTa's vocabulary may have a text piece of the same name; only the special one scores 0.
    const bool same = pieces[id] == rules.common.unknown && (!deberta || rules.scores[id] == 0);
    if (same) return static_cast<std::int64_t>(id);
  }
  return deberta ? config.unknown_id.value_or(kUnknownOfDeberta) : 0;
}

StepJson metaspace_json(bool prefix, const char* otherwise) {
  return {{"type", "Metaspace"},
          {"replacement", "\u2581"},
          {"prepend_scheme", prefix ? "always" : otherwise},
          {"split", true}};
}

std::unique_ptr<const PreTokenizer> make_metaspace(bool prefix, PrependScheme otherwise) {
  return std::make_unique<Metaspace>(
      MetaspaceRules{.prepend = prefix ? PrependScheme::kAlways : otherwise});
}

void set_xlm_roberta_steps(const std::string& path, bool prefix, PieceRules& rules) {
  if (!rules.character_table.empty()) {
    auto table = Precompiled::parse(rules.character_table);
    if (!table) refuse_tokenizer(path, "its precompiled_charsmap is damaged");
    rules.normalizers.push_back(std::make_unique<Precompiled>(std::move(*table)));
    rules.texts.normalizer = dump(
        {{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(rules.character_table)}});
  }
  rules.pre_tokenizers.push_back(std::make_unique<WhitespaceSplit>());
  rules.pre_tokenizers.push_back(make_metaspace(prefix, PrependScheme::kNever));
  const StepJson metaspace = metaspace_json(prefix, "never");
  rules.texts.pre_tokenizer =
      dump({{"type", "Sequence"},
            {"pretokenizers", StepJson::array({{{"type", "WhitespaceSplit"}}, metaspace})}});
  rules.texts.decoder = dump(metaspace);
  rules.common.separators = 2;
  rules.common.second_type = 0;
}

void set_deberta_steps(const TokenizerConfig& config, bool prefix, PieceRules& rules) {
  StepJson normalizers = StepJson::array(), pre_tokenizers = StepJson::array();
  const bool lower = config.lower_case.value_or(false);
  const bool punctuation = config.split_by_punct.value_or(false);
  if (lower) {
    rules.normalizers.push_back(std::make_unique<Lowercase>());
    normalizers.push_back({{"type", "Lowercase"}});
  }
  rules.normalizers.push_back(std::make_unique<ReplaceWhitespace>(
      ReplaceWhitespace::of_expression(kDebertaBlanks, U" ").value()));
  rules.normalizers.push_back(
      std::make_unique<NormalForm>(/*compatible=*/false, /*composed=*/true));
  rules.normalizers.push_back(std::make_unique<Strip>(/*left=*/false, /*right=*/true));
  normalizers.push_back(
      {{"type", "Replace"}, {"pattern", {{"Regex", kDebertaBlanks}}}, {"content", " "}});
  normalizers.push_back({{"type", "NFC"}});
  normalizers.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
  if (punctuation) {
    rules.pre_tokenizers.push_back(std::make_unique<IsolatePunctuation>());
    pre_tokenizers.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
  }
  rules.pre_tokenizers.push_back(make_metaspace(prefix, PrependScheme::kFirst));
  const StepJson metaspace = metaspace_json(prefix, "first");
  pre_tokenizers.push_back(metaspace);
  rules.texts.normalizer = dump({{"type", "Sequence"}, {"normalizers", normalizers}});
  rules.texts.pre_tokenizer = dump({{"type", "Sequence"}, {"pretokenizers", pre_tokenizers}});
  rules.texts.decoder = dump(metaspace);
}

// Members of tokenizer_config.json from which the class makes the same steps again.
StepJson config_members(TokenizerKind kind, const TokenizerConfig& config, bool prefix,
                        std::int64_t unknown) {
  StepJson members = {{"add_prefix_space", prefix}};
  // CamembertTokenizer would add tokens of its own.
  if (kind == TokenizerKind::kCamembert && config.extra.empty()) {
    members["extra_special_tokens"] = StepJson::array();
  }
  if (kind != TokenizerKind::kDebertaV2) return members;
  members["do_lower_case"] = config.lower_case.value_or(false);
  members["split_by_punct"] = config.split_by_punct.value_or(false);
  members["unk_id"] = unknown;
  if (config.types.value_or(true)) {
    members["model_input_names"] = {"input_ids", "attention_mask", "token_type_ids"};
  }
  return members;
}

}  // namespace

bool is_sentencepiece(TokenizerKind kind) {
  return kind == TokenizerKind::kXlmRoberta || kind == TokenizerKind::kCamembert ||
         kind == TokenizerKind::kDebertaV2;
}

const char* sentencepiece_file(TokenizerKind kind) {
  return kind == TokenizerKind::kDebertaV2 ? "spm.model" : "sentencepiece.bpe.model";
}

StepTypes sentencepiece_step_types(TokenizerKind kind, const TokenizerConfig& config) {
  if (kind != TokenizerKind::kDebertaV2) return {"Precompiled", "WhitespaceSplit, Metaspace"};
  const bool lower = config.lower_case.value_or(false);
  const bool punctuation = config.split_by_punct.value_or(false);
  return {std::string(lower ? "Lowercase, " : "") + "Replace, NFC, Strip",
          std::string(punctuation ? "Punctuation, " : "") + "Metaspace"};
}

void read_sentencepiece_rules(const std::string& folder, TokenizerKind kind,
                              TokenizerConfig& config, PieceRules& rules) {
  SentencePieceModel model =
      read_sentencepiece_model(fmt::format("{}/{}", folder, sentencepiece_file(kind)));
  ScoredPieces all = arranged(model, kind, config);
  rules.common.vocabulary = std::move(all.pieces);
  rules.scores = std::move(all.scores);
  rules.character_table = std::move(model.character_table);
  config.unknown_id = model.unknown;
  if (!config.has_extra || kind == TokenizerKind::kCamembert) config.extra.clear();
  for (const SentencePieceModel::Symbol& symbol : model.symbols) {
    config.extra.push_back({.content = symbol.piece, .special = symbol.control});
  }
  if (kind != TokenizerKind::kDebertaV2) return;
  // The models have an embedding for it.
  rules.common.added.push_back({.content = named_token(config, "mask_token", ""),
                                .id = static_cast<std::int32_t>(rules.common.vocabulary.size())});
}

void set_sentencepiece_steps(const std::string& path, TokenizerKind kind,
                             const TokenizerConfig& config, PieceRules& rules) {
  const bool prefix = config.add_prefix_space.value_or(true);
  if (kind == TokenizerKind::kDebertaV2) {
    set_deberta_steps(config, prefix, rules);
  } else {
    set_xlm_roberta_steps(path, prefix, rules);
  }
  const std::int64_t unknown = unknown_of(kind, config, rules);
  if (unknown < 0 || static_cast<std::size_t>(unknown) >= rules.scores.size()) {
    refuse_tokenizer(path, fmt::format("its vocabulary of {} pieces has no id {}, the unknown one",
                                       rules.scores.size(), unknown));
  }
  rules.model = std::make_unique<Unigram>(rules.common.vocabulary, rules.scores,
                                          static_cast<std::int32_t>(unknown),
                                          /*byte_fallback=*/false);
  rules.unknown_id = unknown;
  rules.texts.config = dump(config_members(kind, config, prefix, unknown));
}

}  // namespace dtl::trainer
