#pragma once
// The steps of SentencePiece's kind in a tokenizer.json. Templates, because nlohmann-json must not
// be in a header.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/pieces/base64.h"
#include "trainer/pieces/metaspace.h"
#include "trainer/pieces/precompiled.h"
#include "trainer/pieces/unicode.h"
#include "trainer/pieces/unigram.h"
#include "trainer/pieces/whitespace.h"
#include "trainer/tokens/library_object.h"
#include "trainer/tokens/piece_files.h"
#include "trainer/tokens/sentencepiece_files.h"

namespace dtl::trainer {

// The bytes of a normaliser's precompiled_charsmap.
template <class Json>
std::string read_character_table(const LibraryObject<Json>& json) {
  const char* key = "precompiled_charsmap";
  auto table = decode_base64(json.text(key, ""));
  if (!table || !Precompiled::parse(*table)) {
    json.fail("", "its precompiled_charsmap is not a table of SentencePiece in base64");
  }
  return std::move(*table);
}

template <class Json>
std::unique_ptr<const Normalizer> read_precompiled(const LibraryObject<Json>& json) {
  return std::make_unique<Precompiled>(Precompiled::parse(read_character_table(json)).value());
}

template <class Json>
std::unique_ptr<const PreTokenizer> read_metaspace(const LibraryObject<Json>& json) {
  MetaspaceRules rules;
  const std::u32string replacement = code_points(json.text("replacement", ""));
  if (replacement.size() != 1) json.fail("", "the replacement of its Metaspace is not a character");
  rules.replacement = replacement[0];
  rules.split = json.flag("split", true);
  const std::string scheme = json.text("prepend_scheme", "always");
  if (scheme == "first") {
    rules.prepend = PrependScheme::kFirst;
  } else if (scheme == "never") {
    rules.prepend = PrependScheme::kNever;
  } else if (scheme != "always") {
    json.fail(
        "", "the prepend_scheme of its Metaspace is not one of always, first and never: " + scheme);
  }
  if (!json.flag("add_prefix_space", true)) {
    if (json.has("prepend_scheme") && rules.prepend != PrependScheme::kNever) {
      json.fail("", "the add_prefix_space of its Metaspace does not match its prepend_scheme");
    }
    rules.prepend = PrependScheme::kNever;
  }
  return std::make_unique<Metaspace>(rules);
}

// Pieces and scores, [["a", -1.5], ..].
template <class Json>
void read_scored_pieces(const LibraryObject<Json>& json, PieceRules& rules) {
  if (!json.has("vocab") || !json.json()["vocab"].is_array() || json.json()["vocab"].empty()) {
    json.fail("", "it has no model.vocab");
  }
  for (const Json& item : json.json()["vocab"]) {
    const bool good =
        item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_number();
    if (!good) json.fail("vocab", "an item is not a text and its score");
    rules.common.vocabulary.push_back(item[0].template get<std::string>());
    rules.scores.push_back(item[1].template get<double>());
  }
}

// The model as the file has it.
template <class Json>
std::unique_ptr<const PieceModel> read_whole_unigram(const LibraryObject<Json>& json,
                                                     const PieceRules& rules) {
  json.check(keys_of::kUnigram);
  if (!json.has("unk_id")) json.fail("", "it has no model.unk_id, for unknown characters");
  const std::int32_t unknown = json.id("unk_id", json.json()["unk_id"]);
  if (static_cast<std::size_t>(unknown) >= rules.scores.size()) {
    json.fail("unk_id", "the unk_id is not in the vocabulary");
  }
  return std::make_unique<Unigram>(rules.common.vocabulary, rules.scores, unknown,
                                   json.flag("byte_fallback", false));
}

// The table of the first Precompiled in the file, as transformers looks for it.
template <class Json>
std::string find_character_table(const LibraryObject<Json>& whole) {
  if (!whole.has("normalizer")) return {};
  const LibraryObject<Json> normalizer = whole.object("normalizer");
  if (normalizer.text("type", "") == "Precompiled") return read_character_table(normalizer);
  if (!normalizer.has("normalizers") || !normalizer.json()["normalizers"].is_array()) return {};
  for (const Json& item : normalizer.json()["normalizers"]) {
    const LibraryObject<Json> step = normalizer.item(item);
    if (step.text("type", "") == "Precompiled") return read_character_table(step);
  }
  return {};
}

// Only pieces, scores and the table count.
template <class Json>
void read_class_pieces(const LibraryObject<Json>& whole, const TokenizerClass& named,
                       PieceRules& rules) {
  const LibraryObject<Json> model = whole.object("model");
  const std::string type = model.text("type", "none");
  if (type != "Unigram") {
    model.fail("type", fmt::format("its model is {}, but {} has Unigram", type, named.name),
               "\"tokenizer_class\": \"PreTrainedTokenizerFast\" in tokenizer_config.json");
  }
  read_scored_pieces(model, rules);
  rules.character_table = find_character_table(whole);
}

// A Replace with a regular expression.
template <class Json>
std::unique_ptr<const Normalizer> read_regex_replace(const LibraryObject<Json>& json) {
  const Json& pattern = json.json()["pattern"]["Regex"];
  if (!pattern.is_string()) json.fail("", "the expression of its normalizer Replace is not a text");
  const std::string expression = pattern.template get<std::string>();
  auto found = ReplaceWhitespace::of_expression(expression, code_points(json.text("content", "")));
  if (!found) {
    json.fail("", fmt::format("its normalizer Replace has the expression '{}', but only those for "
                              "runs of blanks are supported",
                              expression));
  }
  return std::make_unique<ReplaceWhitespace>(std::move(*found));
}

}  // namespace dtl::trainer
