// Accepts exactly what our Subwords implement: BertNormalizer, BertPreTokenizer, WordPiece and
// a template. Anything else is an error that names it. An approximation would feed a model
// other tokens than in training, and nobody would see why results are worse.
#include "trainer/tokens/tokenizer_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trainer/files/model_keys.h"
#include "trainer/json/json_text.h"
#include "trainer/tokens/library_object.h"

namespace dtl::trainer {
namespace {

using LibraryJson = nlohmann::json;  // fast look-up of 30,000 tokens

using Object = LibraryObject<LibraryJson>;

void read_normalizer(const Object& json, TextRules& rules) {
  const std::string type = json.text("type", "none");
  if (type != "BertNormalizer") json.fail("", "its normalizer is not a BertNormalizer but " + type);
  json.check(keys_of::kNormalizer);
  rules.clean_text = json.flag("clean_text", true);
  rules.chinese_apart = json.flag("handle_chinese_chars", true);
  rules.lower_case = json.flag("lowercase", true);
  // null means: same as lowercase, as in tokenizers.
  rules.strip_accents = json.flag("strip_accents", rules.lower_case);
}

void read_pre_tokenizer(const Object& json) {
  const std::string type = json.text("type", "none");
  if (type != "BertPreTokenizer") json.fail("", "its pre_tokenizer is " + type);
  json.check(keys_of::kPreTokenizer);
}

void read_model(const Object& json, TokenizerRules& rules) {
  const std::string type = json.text("type", "WordPiece");
  if (type != "WordPiece") json.fail("type", "its model is not WordPiece but " + type);
  json.check(keys_of::kWordPiece);
  rules.unknown = json.text("unk_token", rules.unknown);
  rules.prefix = json.text("continuing_subword_prefix", rules.prefix);
  if (json.has("max_input_chars_per_word")) {
    const char* key = "max_input_chars_per_word";
    rules.max_word_characters = json.id(key, json.json()[key]);
  }
  read_vocabulary(json, rules);
}

}  // namespace

TokenizerJson read_tokenizer_json(const std::string& path) {
  const JsonComplaint complaint{"cannot use this tokenizer"};
  const std::string bytes = read_json_text(path, kMaxTokenizerJsonBytes, complaint);
  const LibraryJson json = LibraryJson::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse_json(path, bytes, complaint);
  const Object whole(path, bytes, json);
  whole.check(keys_of::kTokenizerJson);
  TokenizerJson result;
  read_normalizer(whole.object("normalizer"), result.rules.text);
  read_pre_tokenizer(whole.object("pre_tokenizer"));
  read_model(whole.object("model"), result.rules);
  const LibraryFrame frame = read_frame(whole.object("post_processor"));
  result.rules.cls = frame.cls;
  result.rules.sep = frame.sep;
  result.rules.separators = frame.separators;
  result.rules.second_type = frame.second_type;
  result.rules.trims_offsets = frame.trims_offsets;
  result.rules.keeps_blank = frame.prefix;
  result.rules.added = read_added(whole);
  const LibraryLengths lengths = read_lengths(whole);
  result.truncate_left = lengths.truncate_left;
  if (lengths.pad) result.rules.pad = *lengths.pad;
  return result;
}

}  // namespace dtl::trainer
